import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { compiledStarter } from "../../../test/inside/compiled-starter.ts";
import { OwnTcp, type TcpSockets } from "./tcp-sockets.ts";
import { UserTcp } from "./user-tcp.ts";

const isRoot = process.geteuid?.() === 0;
const nobody = { login: "nobody", uid: 65_534, gid: 65_534, home: "/", shell: "/bin/sh" };
const never = new AbortController().signal;

function using(make: () => TcpSockets): TcpSockets & Disposable {
  const sockets = make();
  return Object.assign(sockets, { [Symbol.dispose]: () => sockets.close() });
}

/** The owner of a socket of this host by its local port and its peer's, 0 for one that listens: other connections may have the same local port. */
function uidOf(port: number, peer = 0, file = "/proc/net/tcp"): number {
  const [local, remote] = [port, peer].map((one) => one.toString(16).toUpperCase().padStart(4, "0"));
  const line = readFileSync(file, "utf8")
    .split("\n")
    .find((one) => new RegExp(`^ *\\d+: [0-9A-F]+:${local} [0-9A-F]+:${remote} 0[1A] `).test(one));
  return Number(line?.trim().split(/\s+/)[7]);
}

const kinds: readonly (readonly [string, () => TcpSockets, number])[] = [
  ["its own", () => new OwnTcp(), process.geteuid?.() ?? 0],
  ...(isRoot ? ([["a user's", () => new UserTcp({ user: nobody, starter: compiledStarter() }), nobody.uid]] as const) : []),
];

test.for(kinds)("TCP of %s process: connections and listeners belong to it, both ways of a stream work", async ([, make, uid]) => {
  using sockets = using(make);
  const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const { port } = echo.address() as AddressInfo;
  const made = await Promise.all(Array.from({ length: 20 }, () => sockets.connect({ host: "127.0.0.1", port }, never)));
  for (const [index, socket] of made.entries()) {
    expect(uidOf(socket.localPort ?? 0, port)).toBe(uid);
    socket.end(`hello ${index}`);
    expect((await socket.setEncoding("utf8").toArray()).join("")).toBe(`hello ${index}`);
  }
  echo.close();

  const arrived: Socket[] = [];
  const listener = await sockets.listen({ host: "127.0.0.1", port: 0 }, (socket) => arrived.push(socket));
  expect(uidOf(listener.port)).toBe(uid);
  const clients = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const client = connect({ host: "127.0.0.1", port: listener.port, allowHalfOpen: true });
      await once(client, "connect");
      client.end(`from ${index}`);
      return client;
    }),
  );
  await expect.poll(() => arrived.length).toBe(5);
  const texts = await Promise.all(arrived.map(async (socket) => (await socket.setEncoding("utf8").toArray()).join("")));
  expect(texts.sort()).toEqual([0, 1, 2, 3, 4].map((index) => `from ${index}`));
  for (const socket of [...arrived, ...clients]) socket.destroy();
  await expect(sockets.listen({ host: "127.0.0.1", port: listener.port }, () => {})).rejects.toMatchObject({ code: "EADDRINUSE" });
  listener.close();
  const refused = async (): Promise<unknown> => sockets.connect({ host: "127.0.0.1", port: listener.port }, never).catch((thrown: unknown) => thrown);
  await expect.poll(async () => ((await refused()) as NodeJS.ErrnoException).code).toBe("ECONNREFUSED");
  await expect(sockets.connect({ host: "127.0.0.1", port: 1 }, AbortSignal.abort())).rejects.toThrow("disconnected");
});

/** Ids of our processes that make sockets. */
function makers(): readonly number[] {
  return execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" })
    .split("\n")
    .flatMap((line) => {
      const [pid = "", parent, name] = line.trim().split(/\s+/);
      return parent === String(process.pid) && name === "platform-ports" ? [Number(pid)] : [];
    });
}

test.skipIf(!isRoot)("when a user's process is killed, pending requests fail and a new one is started; a closed one ends", async () => {
  using sockets = using(() => new UserTcp({ user: nobody, starter: compiledStarter() }));
  // A killed process exists until it is reaped.
  const count = (wanted: number): Promise<void> => expect.poll(makers, { timeout: 10_000 }).toHaveLength(wanted);
  const listen = async (): Promise<number> => (await sockets.listen({ host: "127.0.0.1", port: 0 }, () => {})).port;
  expect(await listen()).toBeGreaterThan(0);
  // Processes of the previous tests end by themselves, a moment later.
  await count(1);
  const [maker = 0] = makers();
  process.kill(maker, "SIGSTOP");
  const waiting = listen().catch((thrown: unknown) => thrown);
  process.kill(maker, "SIGKILL");
  expect(await waiting).toMatchObject({ code: "unavailable" });
  expect(await listen()).toBeGreaterThan(0);
  await count(1);
  sockets.close();
  await count(0);
});

test.skipIf(!isRoot)(
  "a user's process that does not read holds a bounded number of requests: it is ended, they fail, and the next request works",
  async () => {
    using sockets = using(() => new UserTcp({ user: nobody, starter: compiledStarter() }));
    const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
    const others = new Set(makers());
    (await sockets.connect(address, never)).destroy();
    const [maker = 0] = makers().filter((pid) => !others.has(pid));
    process.kill(maker, "SIGSTOP");
    const asked = Array.from({ length: 4000 }, () => sockets.connect(address, never));
    const results = await Promise.allSettled(asked);
    const failed = results.flatMap((one) => (one.status === "rejected" ? [(one.reason as Error).message] : []));
    for (const one of results) if (one.status === "fulfilled") one.value.destroy();
    expect(new Set(failed)).toEqual(new Set(["the process for the user's sockets failed: it does not read requests"]));
    expect(failed.length).toBeGreaterThan(1000);
    (await sockets.connect(address, never)).destroy();
    await expect.poll(() => makers().includes(maker), { timeout: 10_000 }).toBe(false);
    server.close();
  },
);

test.skipIf(!isRoot)("ports below 1024 need the user's own privilege", async () => {
  const start = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
  using sockets = using(() => new UserTcp({ user: nobody, starter: compiledStarter() }));
  const listened = await sockets.listen({ host: "127.0.0.1", port: 1023 }, () => {}).catch((thrown: unknown) => thrown);
  expect(listened).toMatchObject(start > 1023 ? { code: "EACCES" } : {});
});
