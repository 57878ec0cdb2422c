import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { capability } from "../../core/databases/mysql/capabilities.ts";
import { packet } from "../../core/databases/mysql/packet.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";
import { startTestAgent } from "../../test/inside/connect-agent.ts";
import { jumpSsh } from "../../test/inside/jump-ssh.ts";
import { startTestCluster, type TestCluster } from "../../test/inside/open-cluster.ts";
import { BrowserWorld } from "./app-front/testing/browser-world.ts";
import { frontWorld } from "./db-front/testing/front-world.ts";

/** A proxy's clock, which the test puts forward, and on which the retired proxy looks each time that it waits on. */
class ProxyClock {
  #aheadMs = 0;
  #looks = 0;
  #looked = Promise.withResolvers<void>();

  readonly now = (): number => {
    this.#looks -= 1;
    if (this.#looks === 0) this.#looked.resolve();
    return performance.now() + this.#aheadMs;
  };

  /** Puts it forward. Resolves when it was looked at so many times since. */
  async goOn(ms: number, looks: number): Promise<void> {
    this.#aheadMs += ms;
    this.#looks = looks;
    this.#looked = Promise.withResolvers<void>();
    await this.#looked.promise;
  }
}

/** Something that a client has begun, and whose other end is slow. */
interface Slow {
  readonly cluster: TestCluster;
  /** The other end does its part now: what the client gets. */
  readonly goOn: () => Promise<unknown>;
  readonly [Symbol.asyncDispose]: () => PromiseLike<void>;
}

async function mysqlLogin(clock: () => number): Promise<Slow> {
  const world = await frontWorld({ clock });
  const arrived = Promise.withResolvers<Duplex>();
  world.serve = arrived.resolve;
  const socket = await world.dial("mysql");
  await once(socket, "data");
  const head = Buffer.alloc(32);
  head.writeUInt32LE((capability.ssl | capability.protocol41) >>> 0);
  socket.write(packet(1, head));
  const tls = await world.tls(socket, await world.certificate("mysql", "reader"));
  tls.write(packet(2, head));
  const agent = await arrived.promise;
  const goOn = async (): Promise<unknown> => {
    agent.write(packet(0, Buffer.from("\xffslow", "latin1")));
    return String((await once(tls, "data"))[0]).slice(5);
  };
  return { cluster: world.cluster, goOn, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

async function webSocket(clock: () => number): Promise<Slow> {
  const site = await BrowserWorld.open({ clock });
  const arrived = Promise.withResolvers<Duplex>();
  site.upgrade = (_request, socket) => arrived.resolve(socket);
  const request = await site.begin("/ws", { headers: { cookie: await site.signIn(), connection: "Upgrade", upgrade: "websocket" } });
  const upgraded = once(request.end(), "upgrade") as Promise<[IncomingMessage, Duplex]>;
  upgraded.catch(() => {});
  const agent = await arrived.promise;
  const goOn = async (): Promise<unknown> => {
    agent.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nslow");
    const [, socket] = await upgraded;
    return String((await once(socket, "data"))[0]);
  };
  return { cluster: site.world.cluster, goOn, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

async function jump(clock: () => number): Promise<Slow> {
  const cluster = await startTestCluster({ mode: "separate", clock });
  const arrived = Promise.withResolvers<Duplex>();
  await startTestAgent(cluster, { hostname: "web-1", onStream: arrived.resolve });
  const keys = await cluster.login("alice");
  const ssh = await jumpSsh(cluster, keys);
  const opened = Promise.withResolvers<Duplex>();
  opened.promise.catch(() => {});
  ssh.forwardOut("127.0.0.1", 0, "web-1", 22, (error, channel) => (error ? opened.reject(error) : opened.resolve(channel)));
  const agent = await arrived.promise;
  const goOn = async (): Promise<unknown> => {
    agent.write(encodeStreamReply({ ok: true }));
    agent.write("slow");
    return String((await once(await opened.promise, "data"))[0]);
  };
  return { cluster, goOn, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

/** Two calls to the auth service on one connection. */
async function authCalls(clock: () => number): Promise<Slow> {
  const cluster = await startTestCluster({ clock });
  const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await cluster.login("alice");
  const { client } = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials: { certificate, privateKey } });
  const call = async (): Promise<unknown> => ((await client.getCluster({})).caPins.length > 0 ? "slow" : "");
  await call();
  return { cluster, goOn: call, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

test.for([
  { what: "a login of MySQL", begin: mysqlLogin },
  { what: "a WebSocket", begin: webSocket },
  { what: "a channel of the jump host", begin: jump },
  { what: "a connection to the auth service", begin: authCalls },
])("a proxy that was replaced waits for $what that is being opened", async ({ begin }) => {
  const clock = new ProxyClock();
  await using slow = await begin(clock.now);
  const { proxy } = slow.cluster;
  const stop = new AbortController();
  const ended = proxy.retire(stop.signal).then(() => proxy.close());
  await Promise.race([clock.goOn(3_000, 6), ended]);
  expect(await slow.goOn()).toBe("slow");
  stop.abort();
  await ended;
});
