import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { type Duplex, PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { toOpensshPrivate } from "../../../core/ssh/keys.ts";
import type { SshConnection } from "../../../core/ssh/ssh-client.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import { startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { jumpSsh } from "../../../test/inside/jump-ssh.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";
import { hasProgram } from "../../../test/world/has-program.ts";
import { maxOfUser, RunningStreams } from "./running-streams.ts";

let cluster: TestCluster;
let agent: TestAgent;
let alice: UserKeys;
beforeAll(async () => {
  cluster = await startTestCluster({ mode: "separate" });
  agent = await startTestAgent(cluster, { hostname: "web-1" });
  alice = await cluster.login("alice");
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

async function jump(keys: UserKeys, at = cluster): Promise<SshConnection> {
  return await jumpSsh(at, keys);
}

function forward(ssh: SshConnection, target: string, port = 22): Promise<Duplex> {
  return new Promise((resolve, reject) =>
    ssh.forwardOut("127.0.0.1", 0, target, port, (error, channel) => (error ? reject(error) : resolve(channel))),
  );
}

describe("the jump host", () => {
  test.for([0, 22, 3022])("forwards to a host at port %i", async (port) => {
    const ssh = await jump(alice);
    const channel = await forward(ssh, "web-1.main", port);
    channel.write("hello");
    const [echoed] = (await once(channel, "data")) as [Buffer];
    expect(echoed.toString()).toBe("hello");
    expect(agent.requests.at(-1)?.parameters).toEqual({ login: "" });
    ssh.end();
  });

  test.for([
    { target: "web-1", port: 80, says: /port 80 of web-1 is not reachable/ },
    { target: "nowhere", port: 22, says: /no host "nowhere" is connected/ },
  ])("refuses $target:$port in words", async ({ target, port, says }) => {
    const ssh = await jump(alice);
    await expect(forward(ssh, target, port)).rejects.toThrow(says);
    ssh.end();
  });

  test("refuses a certificate of another cluster and writes it down", async () => {
    await using foreign = await startTestCluster();
    const mallory = await foreign.login("mallory");
    await expect(jump(mallory)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect.poll(() => cluster.events("auth")).toContainEqual(expect.objectContaining({ user: "mallory" }));
  });

  test.runIf(hasProgram("ssh"))("tells the stock client that there is no shell, and forwards for it", async () => {
    const options = await stockOptions();
    const run = (args: readonly string[]) =>
      new Promise<{ code: unknown; stderr: string; stdout: string }>((resolve) => {
        const child = execFile("ssh", [...options, ...args], { timeout: 15_000 }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, stdout, stderr }),
        );
        child.stdin?.end("ping\n");
      });
    const shell = await run(["box.main", "id"]);
    expect(shell.stderr).toContain("This is a jump host");
    expect(shell.code).toBe(1);
    const through = await run(["-W", "web-1:22", "box.main"]);
    expect(through.stdout).toBe("ping\n");
    const refused = await run(["-W", "nowhere:22", "box.main"]);
    expect(refused.stderr).toContain('no host "nowhere" is connected');
  });
});

test("a client that leaves before the host has taken its connection gives its place back", async () => {
  await using own = await startTestCluster({ mode: "separate" });
  const asked = Promise.withResolvers<Duplex>();
  const host = await startTestAgent(own, { hostname: "web-1", onStream: asked.resolve });
  const keys = await own.login("alice");
  const arrived = Promise.withResolvers<Socket>();
  const arrives = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    if (socket.localPort === own.proxy.addresses.ssh?.port) arrived.resolve(socket);
  };
  subscribe("net.server.socket", arrives);
  const ssh = await jump(keys, own);
  unsubscribe("net.server.socket", arrives);
  const add = vi.spyOn(RunningStreams.prototype, "add");
  const forwarded = forward(ssh, "web-1").catch(() => {});
  const target = await asked.promise;
  const [running, counted] = [add.mock.contexts[0], add.mock.calls[0]?.[0]];
  if (!(running instanceof RunningStreams) || counted === undefined) throw new Error("the stream was not counted");
  add.mockRestore();
  const [left, over] = [once(await arrived.promise, "close"), once(counted.channel, "close")];
  ssh.destroy();
  await Promise.all([left, forwarded]);
  target.end(encodeStreamReply({ ok: true }));
  await over;
  for (let count = 0; count < maxOfUser; count += 1) running.add({ ...counted, channel: new PassThrough() });
  host.end();
});

test("a jump connection leaves a proxy that was replaced: what it has goes on, and it ends after that", async () => {
  let aheadMs = 0;
  await using replaced = await startTestCluster({ mode: "separate", clock: () => performance.now() + aheadMs });
  const host = await startTestAgent(replaced, { hostname: "web-1" });
  const bob = await replaced.login("bob");
  const [shared, idle, other] = [await jump(bob, replaced), await jump(bob, replaced), await jump(bob, replaced)];
  const closed = [shared, idle].map((ssh) => once(ssh, "close"));
  const [channel] = [await forward(shared, "web-1"), await forward(other, "web-1")];
  const stop = new AbortController();
  void replaced.proxy.retire(stop.signal);
  (await forward(shared, "web-1")).resume().end();
  host.send({ type: "draining" });
  await expect.poll(() => [...replaced.proxy.registry.all()].every(({ draining }) => draining)).toBe(true);
  await expect(forward(shared, "web-1")).rejects.toThrow(/another process has taken over .*connect .* again/);
  aheadMs = 6_000;
  await closed[1];
  channel.write("still here");
  expect(String(await once(channel, "data"))).toBe("still here");
  channel.end();
  await once(channel, "close");
  aheadMs += 6_000;
  await closed[0];
  stop.abort();
});

/** Options for the real `ssh` to log in at the jump port as alice, checking the proxy's host certificate. */
async function stockOptions(): Promise<readonly string[]> {
  const [key, known] = [join(cluster.folder, "alice"), join(cluster.folder, "known_hosts")];
  await writeFile(key, toOpensshPrivate(alice.sshPrivateKey));
  await chmod(key, 0o600);
  await writeFile(`${key}-cert.pub`, alice.sshCertificate);
  await writeFile(known, cluster.hostCaSsh.map((line) => `@cert-authority *.main ${line}\n`).join(""));
  const port = String(cluster.proxy.addresses.ssh?.port);
  const settings = [
    `UserKnownHostsFile=${known}`,
    "StrictHostKeyChecking=yes",
    "BatchMode=yes",
    "HostName=127.0.0.1",
    "HostKeyAlias=box.main",
    "IdentitiesOnly=yes",
  ];
  return ["-F", "none", "-p", port, "-i", key, ...settings.flatMap((setting) => ["-o", setting])];
}
