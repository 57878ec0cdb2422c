import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { type Machine, startMachine } from "../world/machine.ts";
import { wire } from "../world/machine-network.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { packageWorld } from "../world/package-world.ts";
import { until } from "../world/until.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const name = "access.example.com";
/** Commands of README's section on a real installation, by the step that they belong to. */
const blocks = [...section(await readFile(resolve(import.meta.dirname, "../../README.md"), "utf8")).matchAll(/```sh\n(.*?)```/gs)].map(
  ([, text]) => text ?? "",
);
const [packages = "", control = "", ask = "", agent = "", look = ""] = blocks;

function section(readme: string): string {
  const from = readme.indexOf("## A real installation");
  return readme.slice(from, readme.indexOf("\n## ", from + 3));
}

/** Runs a block as it stands there. */
async function follow(machine: Machine, block: string): Promise<string> {
  const done = await machine.run(["sh", "-e"], { input: block, limitMs: 120_000 });
  expect({ status: done.status, said: done.stderr, block }).toEqual({ status: 0, said: expect.anything(), block });
  return done.stdout;
}

test("README still says how the packages come to be", () => {
  expect(packages).toMatch(/^make packages /m);
  expect(packages).toMatch(/^make repository KEY=/m);
  expect(packages).toContain(`scp -r dist/packages dist/repository ${name}:/srv/platform/`);
});

test.for(["apt", "dnf", "zypper"] as const)(
  "a new user comes by README alone to an enrolled agent on a fresh %s host",
  { timeout: 600_000 },
  async (manager) => {
    const world = await packageWorld();
    const dir = await mkdtemp(join(tmpdir(), "platform-readme-"));
    const certificate = await makeCertificate(dir, [name]);
    const binds = { [world.packages]: "/srv/platform/packages", [world.repository]: "/srv/platform/repository" };
    await using server = await startMachine({ hostname: "access", hosts: { [name]: "127.0.0.1" }, binds, ca: [certificate.caPem] });
    await server.write("/etc/ssl/access.pem", certificate.cert);
    await server.write("/etc/ssl/access.key", certificate.key, 0o600);
    await using host = await startMachine({ manager, hostname: "web-1", ca: [certificate.caPem] });
    const [address] = await wire(server.netns, host.netns);
    await host.write("/etc/hosts", `127.0.0.1 localhost web-1\n${address} ${name}\n`);

    await follow(server, control);
    const said = await until("control answers", () => follow(server, ask));
    const [, token = ""] = /^Join token: (\S+)$/m.exec(said) ?? [];
    const [pin = ""] = /sha256:[0-9a-f]{64}/.exec(said) ?? [];
    const dry = await follow(host, agent.replace("TOKEN", token).replace("sha256:…", pin));
    expect(dry).toContain("no upgrades available (1.0.0 == 1.0.0)");
    await until(
      "the host is in the inventory, enrolled",
      async () => {
        const listed = await follow(server, look);
        return /web-1 .*1\.0\.0.*unit/.test(listed);
      },
      60_000,
    );
    await rm(dir, { recursive: true });
  },
);
