import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { startMachine } from "../world/machine.ts";
import { clockEnv, setClock } from "../world/machine-clock.ts";
import { openHostAddress } from "../world/machine-network.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { output } from "../world/program.ts";
import { until } from "../world/until.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

test("a machine runs systemd, and boots from its disk again after a power cut", async () => {
  await using machine = await startMachine({ hostname: "web-1" });
  await machine.write("/etc/systemd/system/toy.service", "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n");
  await machine.systemctl("enable", "--now", "toy");
  expect((await machine.output(["hostname"])).trim()).toBe("web-1");
  await machine.powerCut();
  await expect(machine.run(["true"])).rejects.toThrow("is off");
  await machine.start();
  expect((await machine.systemctl("is-active", "toy")).trim()).toBe("active");
  expect(machine.boots).toBe(2);
});

test.for([
  ["apt", "debian", "apt-get", "dnf"],
  ["dnf", "rocky", "dnf", "apt-get"],
  ["yum", "amzn", "yum", "dnf"],
  ["zypper", "opensuse-leap", "zypper", "dnf"],
] as const)("a machine with %s says that it is %s, has %s and no %s", async ([manager, id, present, absent]) => {
  await using machine = await startMachine({ manager });
  const { stdout } = await machine.run(["sh", "-c", `. /etc/os-release; echo "$ID"; command -v ${present} ${absent}; ${present} --version`]);
  expect(stdout).toContain(`${id}\n/usr/bin/${present}\n`);
  expect(stdout).not.toContain(`/${absent}\n`);
});

test("machines reach a server of this host by name, trust its authority, and nothing beyond this host", async () => {
  await using host = await openHostAddress();
  const dir = await mkdtemp(join(tmpdir(), "platform-machine-"));
  const certificate = await makeCertificate(dir, ["control.test"]);
  const server = createServer(certificate, (_request, response) => response.end("hello")).listen(0, host.address);
  await once(server, "listening");
  const url = `https://control.test:${(server.address() as AddressInfo).port}/`;
  const options = { hosts: { "control.test": host.address }, ca: [certificate.caPem] };
  await using one = await startMachine(options);
  await using other = await startMachine({ ...options, manager: "zypper", ca: [] });
  expect(await one.output(["curl", "-sS", url])).toBe("hello");
  expect((await other.run(["curl", "-sS", url])).status).toBe(60);
  expect((await one.run(["curl", "-sS", "--max-time", "2", "http://192.0.2.77/"])).status).not.toBe(0);
  server.close();
  await rm(dir, { recursive: true });
});

test("a disk can be small and full, and the clock off", async () => {
  await using machine = await startMachine({ diskMb: 64 });
  const today = new Date();
  const tomorrow = await machine.output(["date", "+%s"], { env: clockEnv("+1d") });
  expect(Number(tomorrow) * 1000 - today.getTime()).toBeGreaterThan(86_000_000);
  await machine.write("/etc/systemd/system/toy.service", "[Service]\nType=oneshot\nExecStart=date --iso-8601\n");
  await setClock(machine, ["toy"], "-1d");
  await machine.systemctl("start", "toy");
  const yesterday = new Date(today.getTime() - 86_400_000).toISOString().slice(0, 10);
  // The journal takes lines a moment after they were written.
  await until("the journal has its line", async () => (await machine.journal("toy")).includes(yesterday));
  await machine.leaveFree(1024);
  const full = await machine.run(["dd", "if=/dev/zero", "of=/var/tmp/x", "bs=1M", "count=2"]);
  expect(full.stderr).toContain("No space left on device");
});

test("leftovers of a killed test run are removed when the next machine starts", async () => {
  const script = `import { startMachine } from ${JSON.stringify(resolve(import.meta.dirname, "../world/machine.ts"))};
    const machine = await startMachine({});
    console.log(machine.netns);
    setInterval(() => {}, 1000);`;
  const killed = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [chunk] = (await once(killed.stdout, "data")) as [Buffer];
  const name = chunk.toString().trim();
  expect(await output("ip", ["netns"])).toContain(name);
  killed.kill("SIGKILL");
  await once(killed, "close");
  await using _machine = await startMachine();
  const left = async (): Promise<string> =>
    (await output("ip", ["netns"])) + (await output("ip", ["link"])) + (await output("mount", [])) + (await output("ps", ["-eo", "args"]));
  await until(`nothing of ${name} is left`, async () => !(await left()).includes(name));
});
