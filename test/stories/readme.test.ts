import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { acceptInvite } from "../world/accept-invite.ts";
import { type Computer, openComputer } from "../world/computer.ts";
import { eachOf } from "../world/each-of.ts";
import { type MadeCertificate, makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { type Machine, startMachine } from "../world/machine.ts";
import { wire } from "../world/machine-network.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { sshServer } from "../world/machine-recipes.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openNetwork } from "../world/network.ts";
import { openPackager } from "../world/packager.ts";
import type { Finished } from "../world/program.ts";
import { readmeBlocks, readmeCommand } from "../world/readme-commands.ts";
import { rounds } from "../world/rounds.ts";
import { openTerminal } from "../world/terminal.ts";
import { until } from "../world/until.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const name = "access.example.com";
/** README's commands, by the step that they belong to: all that it has. */
const installation = readmeBlocks("## A real installation");
const [packages = "", control = "", ask = "", httpProxy = "", agent = "", look = "", people = ""] = installation;
const newVersion = readmeBlocks("## A new version");
const [build = "", upgrade = "", windows = "", take = ""] = newVersion;
const invite = readmeCommand("tctl users add", "**4. People.**");
const client = { npm: readmeCommand("npm install", "**4. People.**"), linux: readmeCommand("curl ", "**4. People.**") };

/** What a block printed, which must have succeeded. */
function saidBy(block: string, { status, stdout, stderr }: Finished): string {
  expect({ status, said: stderr, block }).toEqual({ status: 0, said: expect.anything(), block });
  return stdout;
}

/** Runs a block as it stands there, in one shell. */
async function follow(machine: Machine, block: string, folder = "/"): Promise<string> {
  return saidBy(block, await machine.run(["sh", "-e"], { input: `cd ${folder}\n${block}`, limitMs: 120_000 }));
}

/** The lines of step 3 for one host, with the token and the pin in them. */
async function filledIn(server: Machine): Promise<string> {
  const said = await until("control answers", () => follow(server, ask));
  const [, token = ""] = /^Join token: (\S+)$/m.exec(said) ?? [];
  const [pin = ""] = /sha256:[0-9a-f]{64}/.exec(said) ?? [];
  const lines = agent.replace("TOKEN", token).replace("sha256:…", pin);
  // What tctl printed is what README says.
  for (const line of lines.split("\n").slice(0, 3)) expect(said).toContain(line);
  return lines;
}

async function isEnrolled(server: Machine, host: string, version: string): Promise<void> {
  const wanted = new RegExp(`${host} .*${version.replaceAll(".", "\\.")}.*unit`);
  await until(`${host} is in the inventory with ${version}, enrolled`, async () => wanted.test(await follow(server, look)), 60_000);
}

/** A fresh machine that reaches the server by a wire of its own. */
async function besides(
  server: Machine,
  certificate: MadeCertificate,
  options: { hostname: string; manager?: MachineManager; packages?: readonly string[] },
) {
  const machine = await startMachine({ ca: [certificate.caPem], ...options });
  const [address] = await wire(server.netns, machine.netns);
  await machine.write("/etc/hosts", `127.0.0.1 localhost ${options.hostname}\n${address} ${name}\n`);
  return machine;
}

/** The link that `tctl users add` prints for this user. */
async function invited(server: Machine, user: string): Promise<string> {
  const [link] = /https:\/\/\S+\/web\/invite\/\S+/.exec(await follow(server, invite.replace("alice", user))) ?? [];
  return link ?? "";
}

/** Step 4 on a fresh Linux: alice in her terminal, up to a shell on the host, and stock ssh to the same. */
async function asAlice(server: Machine, certificate: MadeCertificate): Promise<void> {
  await using laptop = await besides(server, certificate, { hostname: "laptop", packages: sshServer });
  await follow(laptop, client.linux);
  expect((await laptop.run(["systemctl", "is-active", "platform"])).stdout).toBe("inactive\n");
  const { password, code } = await acceptInvite(await invited(server, "alice"), (args) => laptop.output(["curl", ...args]));
  await laptop.output(["useradd", "--create-home", "--shell", "/bin/sh", "alice"]);
  await using terminal = openTerminal(laptop, "alice");
  const atHost = async (): Promise<void> => {
    await terminal.shows(/root@web-1:~# $/);
    terminal.type("echo on $(hostname) as $(id -un)");
    await terminal.shows(/^on web-1 as root\r$/m);
    terminal.type("exit");
  };
  const answers: readonly (readonly [begin: string, go: () => Promise<unknown>])[] = [
    [
      "tsh login",
      async () => {
        await terminal.shows(/Password of alice: $/);
        terminal.type(password);
        await terminal.shows(/One-time code: $/);
        terminal.type(code());
      },
    ],
    ["tsh ls", () => terminal.shows(/^web-1 /m)],
    ["tsh ssh", atHost],
    ["ssh ", atHost],
  ];
  const prompt = /\$ $/;
  await terminal.shows(prompt);
  for (const line of people.trim().split("\n")) {
    terminal.type(line);
    await answers.find(([begin]) => line.startsWith(begin))?.[1]();
    await terminal.shows(prompt);
    terminal.type('echo "status $?."');
    expect(await terminal.shows(/^status \d+\..*\n\$ $/ms)).toMatch(/^status 0\./m);
  }
}

/** Step 4 on another system with Node.js, behind the HTTP proxy: up to a command on the host. */
async function asBob(bob: Computer, server: Machine, env: Readonly<Record<string, string>>): Promise<void> {
  saidBy(client.npm, await bob.run(client.npm, { env }));
  const accepted = await acceptInvite(await invited(server, "bob"), async (args) =>
    saidBy("curl", await bob.run(`curl ${args.map((arg) => `'${arg}'`).join(" ")}`, { env })),
  );
  const [login = "", ls = "", ssh = ""] = people.replace("alice", "bob").split("\n");
  saidBy(login, await bob.run(`${login} <<'END'\n${accepted.password}\n${accepted.code()}\nEND`, { env }));
  expect(saidBy(ls, await bob.run(ls, { env }))).toContain("web-1");
  expect(saidBy(ssh, await bob.run(`${ssh} hostname`, { env }))).toBe("web-1\n");
}

test("README has the commands that this story types, and no others", () => {
  expect([installation.length, newVersion.length]).toEqual([7, 4]);
  expect(invite).toBe("tctl users add alice --roles=access --logins=root,ubuntu");
});

test("README alone leads from the sources to hosts, to a shell on one, and to a second version that a host behind an HTTP proxy with a password takes", {
  // In full it compresses as a release does: two versions, deb and rpm.
  timeout: rounds(2_700_000, 900_000),
}, async () => {
  const dir = await mkdtemp(join(tmpdir(), "platform-readme-"));
  const certificate = await makeCertificate(dir, [name]);
  await using server = await startMachine({ hostname: "access", hosts: { [name]: "127.0.0.1" }, ca: [certificate.caPem], packages: sshServer });
  await server.write("/etc/ssl/access.pem", certificate.cert);
  await server.write("/etc/ssl/access.key", certificate.key, 0o600);
  await using network = await openNetwork();
  const [address] = await wire(server.netns, network.proxy);
  // squid looks names up in its own network's hosts.
  await appendFile(`/etc/netns/${network.proxy}/hosts`, `${address} ${name}\n`);
  await using squid = await startSquid({ address: network.proxyAddress, netns: network.proxy });
  const trusting = { ca: [certificate.caPem] };
  await using packager = await openPackager(server, name, { ...trusting, hosts: { [name]: server.address } });
  await using host = await startMachine({ ...trusting, netns: network.agent, hostname: "web-1", hosts: { [name]: address } });

  saidBy(packages, await packager.follow(packages));
  await follow(server, control, "/root");

  // One shell, as the operator has it: the export of the first block counts in the second.
  const proxied = httpProxy.replace(/http:\/\/user:password@proxy\.corp:3128/, squid.httpUrl);
  expect(proxied).toContain(squid.httpUrl);
  const here = "no upgrades available (1.0.0 == 1.0.0)";
  expect(await follow(host, proxied + (await filledIn(server)))).toContain(here);
  expect(await host.output(["stat", "-c", "%a", "/etc/default/platform"])).toBe("600\n");
  await eachOf(["dnf", "zypper"] as const, async (manager) => {
    await using other = await besides(server, certificate, { hostname: `on-${manager}`, manager });
    expect(await follow(other, await filledIn(server))).toContain(here);
    await isEnrolled(server, other.hostname, "1.0.0");
  });
  await isEnrolled(server, "web-1", "1.0.0");

  await asAlice(server, certificate);
  await using bob = await openComputer({ ...trusting, hosts: { [name]: address }, netns: network.agent });
  await asBob(bob, server, {
    HTTPS_PROXY: squid.httpUrl,
    PATH: `${bob.home}/npm/bin:${process.env.PATH}`,
    ...{ npm_config_prefix: `${bob.home}/npm`, npm_config_cafile: certificate.caFile, npm_config_audit: "false" },
  });

  saidBy(build, await packager.follow(build));
  await follow(server, upgrade, "/root");
  await until("the new control answers", async () => /^Version:? +1\.1\.0$/m.test(await follow(server, "tctl status")));
  await takeNewVersion(server, host);
  await isEnrolled(server, "web-1", "1.1.0");
  expect(await squid.accessLog()).toContain(name);
  expect(await network.dropped()).toBe(0);
  await rm(dir, { recursive: true });
});

/** The window is the hour that runs, and the next one when that ends meanwhile. */
async function takeNewVersion(server: Machine, host: Machine): Promise<void> {
  let open: number | undefined;
  await until(
    "the host takes it",
    async () => {
      const hour = new Date().getUTCHours();
      if (open !== hour) expect(await follow(server, windows.replace(/utc_start_hour: \d+/, `utc_start_hour: ${hour}`))).toContain("web-1");
      open = hour;
      if ((await host.run(["test", "-s", "/etc/platform-upgrade.d/schedule"])).status !== 0) return undefined;
      await host.run(["sh", "-e"], { input: take, limitMs: 120_000 });
      return (await host.output(["platform", "version"])).includes("1.1.0") || undefined;
    },
    180_000,
  );
}
