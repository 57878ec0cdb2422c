import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Cluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type DirectWorld, openDirectWorld } from "../world/direct-world.ts";
import { startSession } from "../world/held-session.ts";
import { residentMib } from "../world/hostile-client.ts";
import { type Finished, output, run, start } from "../world/program.ts";
import { until } from "../world/until.ts";

/** Keeps connecting to the port, 50 at a time, sends that much on each and then nothing; prints "open" after so many. Those that are ended come again. */
const opener = `
const { connect } = require("node:net");
const [host, count, bytes] = [process.argv[1], Number(process.argv[2]), Buffer.from(process.argv[3], "hex")];
let [begun, opened] = [0, 0];
const one = () => {
  begun += 1;
  const socket = connect(3022, host, () => {
    socket.write(bytes);
    opened += 1;
    if (opened === count) console.log("open");
    if (begun < count) one();
  });
  socket.on("error", () => {}).on("close", () => setTimeout(one, 20));
};
for (let n = 0; n < 50; n += 1) one();
setTimeout(() => process.exit(), 60_000);
`;

/** Speaks TLS to the port with the credentials of a file, and prints the answer. */
const visitor = `
const { connect } = require("node:tls");
const { readFileSync } = require("node:fs");
const [host, file] = process.argv.slice(1);
const { tlsCertificate: cert, tlsPrivateKey: key } = JSON.parse(readFileSync(file, "utf8"));
const socket = connect({ port: 3022, host, ALPNProtocols: ["platform-direct"], rejectUnauthorized: false, cert, key });
socket.on("data", (data) => console.log(data.toString("latin1"))).on("error", (error) => console.log(error.message)).on("close", () => process.exit());
`;

/** A TLS hello that never comes to its end. */
const halfHello = "1603010200010001fc0303";

describe.skipIf(process.getuid?.() !== 0)("direct mode among hostile peers", () => {
  let world: DirectWorld;
  let cluster: Cluster;
  let web1: Agent;
  let user: User;
  const fromStranger = (script: string, ...args: string[]): Promise<Finished> =>
    run(process.execPath, ["-e", script, ...args], { netns: world.hosts.stranger.netns, limitMs: 30_000 });
  const tsh = (...args: string[]): Promise<Finished> => user.tsh(args);
  beforeAll(async () => {
    world = await openDirectWorld({ split: true });
    ({ cluster, user } = world);
    web1 = await world.agent("web-1", "one");
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test.each([
    { what: "that say nothing", bytes: "" },
    { what: "in the middle of a handshake", bytes: halfHello },
  ])("3,000 connections $what keep nobody out, cost little and are audited", { timeout: 120_000 }, async ({ bytes }) => {
    const { address } = world.hosts.one;
    await using session = await startSession(user, "root@web-1", "echo up; cat", world.hosts.control.netns);
    const before = await residentMib(web1.service.pid);
    const flood = start(process.execPath, ["-e", opener, address, "3000", bytes], { netns: world.hosts.stranger.netns });
    try {
      await new Promise<void>((resolve) => flood.stdout?.once("data", () => resolve()));
      expect(await tsh("ssh", "root@web-1", "echo let in")).toMatchObject({ status: 0, stdout: "let in\n" });
      session.type("goes on\n");
      await session.until("goes on");
      // The others wait in the kernel's queue, which has its own bound.
      const open = (await readdir(`/proc/${web1.service.pid}/fd`)).length;
      expect(open).toBeGreaterThan(200);
      expect(open).toBeLessThan(400);
      expect((await residentMib(web1.service.pid)) - before).toBeLessThan(80);
    } finally {
      flood.kill("SIGKILL");
    }
    const event = await audited(cluster, "auth", { server_name: "web-1", server_id: await world.idOf("web-1") });
    expect(event.error).toMatch(/ended before a proxy authenticated/);
  });

  test("a certificate of another authority, of another host of the cluster or none at all opens nothing", async () => {
    const { address } = world.hosts.one;
    const web2 = await world.agent("web-2", "two");
    const own = await fromStranger(visitor, address, join(web2.dir, "data", "agent", "credentials.json"));
    expect(own.stdout).toMatch(/only proxies may connect to an agent, and \S+ has role node/);
    const folder = cluster.dir;
    const make = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x/OU=host/O=proxy"];
    await output("openssl", [...make, "-keyout", join(folder, "k"), "-out", join(folder, "c")]);
    const client = ["s_client", "-connect", `${address}:3022`, "-alpn", "platform-direct", "-quiet"];
    const foreign = await run("openssl", [...client, "-cert", join(folder, "c"), "-key", join(folder, "k")], { netns: world.hosts.stranger.netns });
    expect(foreign.stdout).toMatch(/was not issued by this cluster/);
    const none = await run("openssl", client, { netns: world.hosts.stranger.netns });
    expect(none.stdout).toMatch(/no client certificate was presented/);
  });

  test("an agent gets no name of another host, of a proxy or of the platform, neither when it joins nor later", { timeout: 120_000 }, async () => {
    for (const name of ["web-1", "control.test", "auth.platform.internal", "web-1.test.cluster"]) {
      const evil = await world.agent("evil", "two", { folder: `evil-${name}`, sshService: `  public_addr: "${name}:3022"\n`, noWait: true });
      await until("it gives up", () => evil.service.exited);
      expect(evil.service.printed()).toMatch(new RegExp(`"?${name}"? is (the name of a|a name reserved for the platform)`));
    }
    await audited(cluster, "instance.join", { success: false, server_name: "evil" });
    // One that is in asks for more: the certificate it has stays, and nobody is led to it.
    const mallory = await world.agent("mallory", "two", { folder: "mallory", sshService: `  listen_addr: 0.0.0.0:3122\n` });
    await mallory.service.stop();
    const later = await world.agent("mallory", "two", {
      folder: "mallory",
      sshService: `  listen_addr: 0.0.0.0:3122\n  public_addr: "web-1:3122"\n`,
      noWait: true,
    });
    await audited(cluster, "instance.renew", { success: false, server_name: "mallory" });
    await until("its report is refused", () => /web-1 is not a name in this host's certificate/.test(later.service.printed()));
    expect((await tsh("ssh", "root@web-1", "echo web-1")).stdout).toBe("web-1\n");
    await later.service.stop();
  });

  test("a host with a wrong pin is refused, and one without a pin gets the reason", async () => {
    const wrong = await world.agent("wrong", "two", { pin: `sha256:${"0".repeat(64)}`, noWait: true });
    await until("it gives up", () => wrong.service.exited);
    expect(wrong.service.printed()).toMatch(/joining the auth service at control\.test:\d+ failed: .*pin/);
    const none = await world.agent("none", "two", { pin: "", noWait: true });
    await until("it gives up", () => none.service.exited);
    expect(none.service.printed()).toMatch(/to join the auth service directly, set platform\.ca_pin/);
  });

  test("an agent behind a proxy opens no port, with any listen_addr", async () => {
    const { netns } = world.hosts.stranger;
    await cluster.agent({ name: "quiet", netns, sshService: "  listen_addr: 0.0.0.0:3022\n" });
    expect(await output("ss", ["-Hlnt"], { netns })).toBe("");
    expect((await tsh("ssh", "root@quiet", "echo by tunnel")).stdout).toBe("by tunnel\n");
    expect((await tsh("ls")).stdout).toMatch(/quiet +⟵ Tunnel/);
  });
});
