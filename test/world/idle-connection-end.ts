/**
 * One end of idle-connections.ts, a process of its own. `server TRICK` accepts tunnels as the proxy does (TLS, SSH in it, a control channel),
 * without that trick if it is named; `client` opens as many as it is asked for, and keeps them.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

const [role = "", off = "", port = "", authority = ""] = process.argv.slice(2);

/** The memory tricks, each a function in a file. */
const tricks: Readonly<Record<string, string>> = {
  "core/node-internals/feed-in-pieces.ts": "feedInPieces",
  "core/ssh/ssh2/forget-exchange.ts": "forgetExchange",
};
if (off !== "" && tricks[off] === undefined) throw new Error(`${off} is not a memory trick`);

/** In place of the one that is left out: a function that does nothing. */
registerHooks({
  load: (url, context, next) => {
    if (off === "" || !url.endsWith(`/${off}`)) return next(url, context);
    return { format: "module", shortCircuit: true, source: `export function ${tricks[off]}() {}` };
  },
});

async function serve(): Promise<void> {
  const { createTestAuthority } = await import("../../core/transport/dial/testing/test-certificate.ts");
  const { hostContext } = await import("../../core/transport/arrivals/server-tls.ts");
  const { peek } = await import("../../core/transport/arrivals/peek.ts");
  const { terminateTls } = await import("../../core/transport/arrivals/server-tls.ts");
  const { acceptSsh } = await import("../../core/ssh/ssh-server.ts");
  const { issue } = await import("../../core/ssh/testing/session-fixture.ts");
  const { generateSshKey } = await import("../../core/ssh/keys.ts");
  const { cert, key } = await (await createTestAuthority()).issue({ type: "dns", value: "a.test" });
  const context = hostContext({ tlsCertificate: cert, tlsPrivateKey: key });
  const own = generateSshKey();
  const host = issue(own.privateKey, "host");
  const { signal } = new AbortController();
  const kept: object[] = [];
  const accept = async (socket: Socket): Promise<void> => {
    await peek(socket, { timeoutMs: 60_000 });
    const tls = await terminateTls(socket, { context, alpn: "tunnel", timeoutMs: 60_000 });
    const { connection } = await acceptSsh({
      stream: tls,
      hostKey: host.key,
      hostCertificate: host.certificate,
      handshakeTimeoutMs: 60_000,
      keepalive: { intervalMs: 0, missed: 3 },
      authenticate: () => {},
      signal,
    });
    connection.on("tcpip", (acceptChannel) => {
      const channel = acceptChannel();
      channel.on("data", () => {});
      kept.push(channel);
    });
  };
  const server = createServer({ noDelay: true, keepAlive: true, pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    accept(socket).catch((thrown: unknown) => process.stderr.write(`${String(thrown)}\n`));
  });
  server.maxConnections = 10_000;
  await once(server.listen(0, "127.0.0.1", 4096), "listening");
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port, authority: own.publicLine })}\n`);
  for await (const _line of createInterface({ input: process.stdin })) {
    for (let round = 0; round < 5; round += 1) {
      await sleep(100);
      globalThis.gc?.();
    }
    const { heapUsed, heapTotal, arrayBuffers } = process.memoryUsage();
    const rollup = await readFile("/proc/self/smaps_rollup", "utf8");
    const anonymous = Number(/^Anonymous:\s+(\d+)/m.exec(rollup)?.[1]);
    process.stdout.write(
      `${JSON.stringify({ kept: kept.length, objects: (heapUsed + arrayBuffers) / 1024, native: anonymous - heapTotal / 1024 })}\n`,
    );
  }
}

async function open(): Promise<void> {
  const { connectSsh } = await import("../../core/ssh/ssh-client.ts");
  const { issue } = await import("../../core/ssh/testing/session-fixture.ts");
  const { generateSshKey } = await import("../../core/ssh/keys.ts");
  const { privateKey } = generateSshKey();
  const user = issue(privateKey, "host");
  const { signal } = new AbortController();
  const one = async (): Promise<void> => {
    const stream = connectTls({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["tunnel"] });
    await once(stream, "secureConnect");
    const client = await connectSsh({
      stream,
      username: "agent",
      privateKey: user.key,
      certificate: user.certificate,
      hostAuthorities: [authority],
      timeoutMs: 60_000,
      signal,
    });
    await new Promise<void>((resolve, reject) =>
      client.forwardOut("a", 1, "control", 1, (error) => (error === undefined ? resolve() : reject(error))),
    );
  };
  for await (const line of createInterface({ input: process.stdin })) {
    for (let left = Number(line); left > 0; left -= 10) await Promise.all(Array.from({ length: Math.min(10, left) }, one));
    process.stdout.write(`{}\n`);
  }
}

if (role === "server") await serve();
else await open();
