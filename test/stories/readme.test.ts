import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { type Machine, startMachine } from "../world/machine.ts";
import { wire } from "../world/machine-network.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openNetwork } from "../world/network.ts";
import { packagedVersions, packageWorld } from "../world/package-world.ts";
import { openPackager, type Packager } from "../world/packager.ts";
import { until } from "../world/until.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const name = "access.example.com";
const readme = await readFile(resolve(import.meta.dirname, "../../README.md"), "utf8");
/** Commands of README by the section and the step that they belong to. */
const [packages = "", control = "", ask = "", httpProxy = "", agent = "", look = "", people = ""] = blocksOf("## A real installation");
const [build = "", upgrade = "", windows = "", take = ""] = blocksOf("## A new version").map((block) =>
  block.replaceAll("1.0.1", packagedVersions.next),
);

function blocksOf(section: string): readonly string[] {
  const from = readme.indexOf(section);
  const text = readme.slice(from, readme.indexOf("\n## ", from + 3));
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block ?? "");
}

/** Runs a block as it stands there. */
async function follow(machine: Machine, block: string, folder = "/"): Promise<string> {
  const done = await machine.run(["sh", "-e"], { input: `cd ${folder}\n${block}`, limitMs: 120_000 });
  expect({ status: done.status, said: done.stderr, block }).toEqual({ status: 0, said: expect.anything(), block });
  return done.stdout;
}

async function make(packager: Packager, block: string): Promise<void> {
  const done = await packager.follow(block);
  expect({ status: done.status, said: done.stderr, block }).toEqual({ status: 0, said: expect.anything(), block });
}

/** The server of README, in which the packager's copies arrive. */
async function startServer(binds: Readonly<Record<string, string>>, certificate: { cert: string; key: string; caPem: string }, netns?: string) {
  const server = await startMachine({ hostname: "access", hosts: { [name]: "127.0.0.1" }, binds, ca: [certificate.caPem], ...(netns && { netns }) });
  await server.write("/etc/ssl/access.pem", certificate.cert);
  await server.write("/etc/ssl/access.key", certificate.key, 0o600);
  return server;
}

/** The lines of step 3 with the token and the pin in them. */
async function filledIn(server: Machine): Promise<string> {
  const said = await until("control answers", () => follow(server, ask));
  const [, token = ""] = /^Join token: (\S+)$/m.exec(said) ?? [];
  const [pin = ""] = /sha256:[0-9a-f]{64}/.exec(said) ?? [];
  const lines = agent.replace("TOKEN", token).replace("sha256:…", pin);
  // What tctl printed is what README says.
  for (const line of lines.split("\n").slice(0, 3)) expect(said).toContain(line);
  return lines;
}

async function isEnrolled(server: Machine, version: string): Promise<void> {
  const wanted = new RegExp(`web-1 .*${version.replaceAll(".", "\\.")}.*unit`);
  await until(`the host is in the inventory with ${version}, enrolled`, async () => wanted.test(await follow(server, look)), 60_000);
}

test("README alone leads from the sources to a second version that a host behind an HTTP proxy with a password takes", {
  timeout: 900_000,
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), "platform-readme-"));
  const certificate = await makeCertificate(dir, [name]);
  await using packager = await openPackager();
  await using network = await openNetwork();
  // squid looks names up in its own network's hosts.
  await appendFile(`/etc/netns/${network.proxy}/hosts`, `${network.controlAddress} ${name}\n`);
  await using squid = await startSquid({ address: network.proxyAddress, netns: network.proxy });
  const root = "/mnt/root";
  await using server = await startServer({ [packager.srv]: "/srv/platform", [packager.home]: root }, certificate, network.control);
  await using host = await startMachine({
    netns: network.agent,
    hostname: "web-1",
    hosts: { [name]: network.controlAddress },
    ca: [certificate.caPem],
  });

  await make(packager, packages);
  await follow(server, control, root);
  const lines = await filledIn(server);
  // One shell, as the operator has it: the export of the first block counts in the second.
  const proxied = httpProxy.replace(/http:\/\/user:password@proxy\.corp:3128/, squid.httpUrl);
  expect(proxied).toContain(squid.httpUrl);
  expect(await follow(host, proxied + lines)).toContain("no upgrades available (1.0.0 == 1.0.0)");
  expect(await host.output(["stat", "-c", "%a", "/etc/default/platform"])).toBe("600\n");
  await isEnrolled(server, "1.0.0");
  // How alice gets tsh where there is no package.
  const [, client = ""] = new RegExp(`https://${name}(/packages/client/\\S+\\.tgz)`).exec(readme) ?? [];
  const fetched = `curl -fsS https://${name}${client} | tar -tzf -`;
  expect((await host.output(["sh", "-c", fetched], { env: { HTTPS_PROXY: squid.httpUrl } })).split("\n")).toContain("package/bin/tsh");
  expect(people).toMatch(/^tsh login --proxy=/);

  await make(packager, build);
  await follow(server, upgrade, root);
  const runs = new RegExp(`^Version:? +${packagedVersions.next.replaceAll(".", "\\.")}$`, "m");
  await until("the new control answers", async () => runs.test(await follow(server, "tctl status")));
  // The window is the hour that runs, with room in it for what comes.
  await until("an hour with room in it", () => new Date().getUTCMinutes() < 54, 7 * 60_000);
  const now = windows.replace(/utc_start_hour: \d+/, `utc_start_hour: ${new Date().getUTCHours()}`);
  expect(await follow(server, now)).toContain("web-1");
  await until(
    "the host takes it",
    async () => {
      await host.run(["sh", "-e"], { input: take, limitMs: 120_000 });
      return (await host.output(["platform", "version"])).includes(packagedVersions.next) || undefined;
    },
    120_000,
  );
  await isEnrolled(server, packagedVersions.next);
  expect(await squid.accessLog()).toContain(name);
  expect(await network.dropped()).toBe(0);
  await rm(dir, { recursive: true });
});

test.for(["dnf", "zypper"] as const)(
  "a new user comes by README alone to an enrolled agent on a fresh %s host",
  { timeout: 600_000 },
  async (manager) => {
    const world = await packageWorld();
    const dir = await mkdtemp(join(tmpdir(), "platform-readme-"));
    const certificate = await makeCertificate(dir, [name]);
    const root = "/mnt/root";
    await using server = await startServer({ [world.packages]: root, [world.repository]: "/srv/platform/repository" }, certificate);
    await using host = await startMachine({ manager, hostname: "web-1", ca: [certificate.caPem] });
    const [address] = await wire(server.netns, host.netns);
    await host.write("/etc/hosts", `127.0.0.1 localhost web-1\n${address} ${name}\n`);

    await follow(server, control, root);
    expect(await follow(host, await filledIn(server))).toContain("no upgrades available (1.0.0 == 1.0.0)");
    await isEnrolled(server, "1.0.0");
    await rm(dir, { recursive: true });
  },
);
