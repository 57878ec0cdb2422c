import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type { ClientChannel, ServerChannel } from "ssh2";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { relay } from "../transport/relay.ts";
import { usualAlgorithms } from "./algorithms.ts";
import { checkCertificate } from "./check-certificate.ts";
import { generateSshKey } from "./keys.ts";
import { rekey } from "./ssh2/hooks.ts";
import { issue, meet, openChannel } from "./testing/session-fixture.ts";

const authority = generateSshKey();
const stranger = generateSshKey();

async function socketPair(): Promise<[Duplex, Duplex]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as { port: number }).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  return [near, far];
}

test.for([
  ["an in-memory pair", async () => duplexPair() as [Duplex, Duplex]],
  ["real sockets", socketPair],
] as const)("a session over %s carries data both ways and its exit status", async ([, streams]) => {
  const { client, server, near, far } = await openChannel({ authority, streams: await streams() });
  far.on("data", (data: Buffer) => far.write(data.toString().toUpperCase()));
  far.on("end", () => {
    far.exit(7);
    far.end();
  });
  const exit = once(near, "exit");
  near.end("hello");
  expect(await text(near)).toBe("HELLO");
  expect((await exit)[0]).toBe(7);
  const closed = once(server, "close");
  client.end();
  await closed;
});

test("a session inside of a channel of another session works: the tunnel", async () => {
  const outer = await openChannel({ authority });
  const inner = await openChannel({ authority, streams: [outer.near, outer.far] });
  const big = Buffer.alloc(3_000_000, 1);
  inner.far.end(big);
  expect((await buffer(inner.near)).length).toBe(big.length);
  const closed = once(inner.server, "close");
  outer.client.end();
  await closed;
});

test("a host certificate logs in as well, and authenticate gets its kind", async () => {
  const user = issue(authority.privateKey, "host", { keyId: "agent" });
  const seen: string[] = [];
  const { client, server } = meet({
    authority,
    user,
    server: { authenticate: ({ certificate }) => void seen.push(certificate.type, certificate.keyId) },
  });
  expect((await server).certificate.keyId).toBe("agent");
  (await client).end();
  expect(seen).toEqual(["host", "agent"]);
});

test.for([
  ["another authority's host certificate", { host: issue(stranger.privateKey, "host") }, /unknown authority/],
  ["a host certificate for another name", { host: issue(authority.privateKey, "host", { principals: ["node-2"] }) }, /does not list "node-1"/],
  ["a user certificate as host certificate", { host: issue(authority.privateKey, "user") }, /wrong kind/],
  ["an expired host certificate", { host: issue(authority.privateKey, "host", { validBefore: new Date(Date.now() - 1000) }) }, /expired at/],
  [
    "a host of the wrong role",
    {
      client: {
        checkHost: () => {
          throw new PlatformError("unauthenticated", "this host is not a proxy");
        },
      },
    },
    /not a proxy/,
  ],
  ["a key that is not the certificate's", { host: { ...issue(authority.privateKey, "host"), key: stranger.privateKey } }, /signature/i],
] as const)("the client refuses %s", async ([, fixture, reason]) => {
  const { client, server } = meet({ authority, ...fixture });
  await expect(client).rejects.toThrow(reason);
  await expect(client).rejects.toBeInstanceOf(PlatformError);
  await expect(server).rejects.toBeInstanceOf(PlatformError);
});

test.for([
  ["another authority's certificate", issue(stranger.privateKey, "user"), /unknown authority/],
  ["an expired certificate", issue(authority.privateKey, "user", { validBefore: new Date(Date.now() - 1000) }), /expired at/],
  ["a certificate for another login", issue(authority.privateKey, "user", { principals: ["bob"] }), /does not list "root"/],
  ["a host certificate where a user's is needed", issue(authority.privateKey, "host"), /wrong kind/],
] as const)("the server refuses %s, and the client gets the reason", async ([, user, reason]) => {
  const { client, server } = meet({ authority, user });
  await expect(client).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringMatching(reason) });
  await expect(server).rejects.toMatchObject({ code: "unauthenticated", message: expect.stringMatching(reason) });
});

test("a stolen certificate without its key never reaches authenticate", async () => {
  const stolen = { ...issue(authority.privateKey, "user"), key: stranger.privateKey };
  const seen: string[] = [];
  const { client, server } = meet({ authority, user: stolen, server: { authenticate: ({ username }) => void seen.push(username) } });
  await expect(client).rejects.toMatchObject({ code: "unauthenticated" });
  await expect(server).rejects.toThrow(/does not hold/);
  expect(seen).toEqual([]);
});

test("a bug in authenticate refuses the login, and its text is not revealed", async () => {
  const authenticate = (): void => {
    throw new TypeError("secret detail");
  };
  const { client } = meet({ authority, server: { authenticate } });
  await expect(client).rejects.toMatchObject({ code: "internal", message: expect.not.stringMatching("secret") });
});

test("a client that never logs in is dropped at the time limit", async () => {
  const [, far] = duplexPair();
  const { server } = meet({ authority, streams: [duplexPair()[0], far], server: { handshakeTimeoutMs: 30 } });
  await expect(server).rejects.toMatchObject({ code: "timeout" });
  expect(far.destroyed).toBe(true);
});

test("a server that never answers is abandoned at the time limit", async () => {
  const [near] = duplexPair();
  const { client } = meet({ authority, streams: [near, duplexPair()[0]], client: { timeoutMs: 30 } });
  await expect(client).rejects.toMatchObject({ code: "timeout" });
  expect(near.destroyed).toBe(true);
});

test("a peer that does not speak SSH is an error, not a crash", async () => {
  const [near, far] = duplexPair();
  const { server } = meet({ authority, streams: [duplexPair()[0], far] });
  near.end("GET / HTTP/1.1\r\n\r\n");
  await expect(server).rejects.toMatchObject({ code: "unavailable" });
});

test("aborting ends an established connection on both ends", async () => {
  const abort = new AbortController();
  const { client, server } = meet({ authority, client: { signal: abort.signal } });
  const [near, { connection }] = await Promise.all([client, server]);
  const closed = Promise.all([once(near, "close"), once(connection, "close")]);
  abort.abort();
  await closed;
});

test.for(["client", "server"] as const)("keys that the %s renews under load lose no byte", async (side) => {
  const { client, near, far } = await openChannel({ authority, [side]: { rekey: { bytes: 1_000_000, ms: 3_600_000 } } });
  let exchanges = 0;
  client.on("handshake", () => {
    exchanges += 1;
  });
  const [up, down] = [Buffer.alloc(5_000_000, "up"), Buffer.alloc(7_000_000, "down")];
  near.end(up);
  far.write(down);
  const received = buffer(near);
  expect((await buffer(far)).equals(up)).toBe(true);
  far.end();
  expect((await received).equals(down)).toBe(true);
  expect(exchanges).toBeGreaterThan(2);
  client.end();
});

test("a renewal of keys goes on after the host certificate has expired, as long as it is the same", async () => {
  const validBefore = new Date(Date.now() + 3_600_000);
  let time = new Date();
  const host = issue(authority.privateKey, "host", { validBefore });
  const { client, near, far } = await openChannel({ authority, host, client: { now: () => time, rekey: { bytes: 100_000, ms: 3_600_000 } } });
  time = new Date(validBefore.getTime() + 1);
  const again = once(client, "handshake");
  const received = buffer(near);
  far.end(Buffer.alloc(1_000_000));
  await again;
  expect((await received).length).toBe(1_000_000);
  client.end();
});

/** The proxy's end of a forwarded channel, and the agent's. */
async function forwardedChannel() {
  const { client, server } = meet({
    authority,
    user: issue(authority.privateKey, "host"),
    server: {
      authenticate: ({ certificate }) => checkCertificate(certificate, { type: "host", authorities: [authority.publicLine], now: new Date() }),
    },
  });
  const [agent, { connection: proxy }] = await Promise.all([client, server]);
  proxy.on("request", (accept) => accept?.());
  const accepted = new Promise<ClientChannel>((resolve) => agent.on("tcp connection", (_details, accept) => resolve(accept())));
  await new Promise<void>((resolve, reject) => agent.forwardIn("platform-stream", 1, (error) => (error ? reject(error) : resolve())));
  const opened = await new Promise<ServerChannel>((resolve, reject) =>
    proxy.forwardOut("platform-stream", 1, "", 0, (error, channel) => (error === undefined ? resolve(channel) : reject(error))),
  );
  return { agent, opened, accepted: await accepted };
}

test("forwarded channels work: the proxy opens, the agent accepts", async () => {
  const { agent, opened, accepted } = await forwardedChannel();
  accepted.pipe(accepted);
  opened.end("echo");
  expect(await text(opened)).toBe("echo");
  agent.end();
});

test("half-close passes through a forwarded channel that is relayed", async () => {
  const { agent, opened, accepted } = await forwardedChannel();
  const [ours, theirs] = duplexPair();
  const done = relay(theirs, opened);
  ours.end("question");
  expect(await text(accepted)).toBe("question");
  accepted.end("answer");
  expect(await text(ours)).toBe("answer");
  await done;
  agent.end();
});

test("bytes pass with ChaCha20 where a server offers no other cipher, over new keys too", async () => {
  const algorithms = { ...usualAlgorithms, ciphers: ["chacha20-poly1305@openssh.com"] };
  const { client, server, near, far } = await openChannel({ authority, server: { algorithms } });
  const bytes = randomBytes(3_000_000);
  const arrived = buffer(far);
  near.write(bytes.subarray(0, 1_000_000));
  const renewed = once(server, "rekey");
  rekey(client);
  await renewed;
  near.end(bytes.subarray(1_000_000));
  expect((await arrived).equals(bytes)).toBe(true);
  client.end();
});
