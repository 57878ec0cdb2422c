import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import type { Presented } from "../../../test/inside/front-user.ts";
import { clusterName } from "../../../test/inside/open-cluster.ts";
import { generateKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";
import { type FrontWorld, frontWorld } from "./testing/front-world.ts";

const sslRequest = Buffer.from("0000000804d2162f", "hex");
const startup = Buffer.from("\0\0\0\x16\0\x03\0\0user\0reader\0\0", "latin1");
const route = { kind: "db", name: "postgres", account: "reader" };

let world: FrontWorld;
beforeAll(async () => {
  world = await frontWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

async function ended(stream: Duplex): Promise<string> {
  return Buffer.concat((await stream.toArray()) as Buffer[]).toString("latin1");
}

/** What a client of PostgreSQL with this certificate reads until the end. */
async function answerTo(presented: Presented): Promise<string> {
  const socket = await world.dial("postgres");
  socket.write(sslRequest);
  await once(socket, "data");
  const tls = await world.tls(socket, presented);
  // The echo of the agent ends with it.
  tls.end(startup);
  return await ended(tls);
}

test("a certificate of another authority, with the same names", async () => {
  const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await (await insideAuthorities(clusterName)).user("alice", { route });
  const before = world.reached.length;
  expect(await answerTo({ certificate, privateKey })).toMatch(/not issued by this cluster/);
  expect(world.reached).toHaveLength(before);
});

test("a certificate that has expired", async () => {
  const certificate = await world.certificate("postgres", "reader", 1);
  await expect.poll(async () => await answerTo(certificate), { timeout: 20_000, interval: 500 }).toMatch(/C28000.*alice expired at/);
});

test("a certificate of a proxy for its user, at a port", async () => {
  const { credentials, cluster } = world;
  const own = await world.certificate("postgres", "reader");
  const keys = generateKeys();
  const { tlsCertificate } = await cluster.auth.localClient("proxy").signRelayedDatabase({
    userCertificate: new Uint8Array(new X509Certificate(own.certificate).raw),
    hostId: credentials.hostId,
    tlsPublicKey: keys.tlsPublicKey,
    clientAddress: "127.0.0.1:1",
  });
  expect(await answerTo({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey })).toMatch(/C28000.*is of a proxy/);
});

test("a certificate of a host in a user's place", async () => {
  const { credentials } = world;
  expect(await answerTo({ certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey })).toMatch(/not issued by this cluster/);
});

/** Errors of the audit log about clients that nobody knows. */
async function offences(): Promise<readonly string[]> {
  const events = await world.cluster.events("auth");
  return events.map(({ error }) => String(error)).filter((error) => error.includes("before it had identified itself"));
}

test("a startup packet that is too long, a TLS handshake of garbage, and bytes of another protocol end the connection, and are audited", async () => {
  const tooLong = await world.dial("postgres");
  tooLong.write(Buffer.from("7fffffff00030000", "hex"));
  expect(await ended(tooLong)).toBe("");
  for (const protocol of ["mysql", "mongodb", "redis", "postgres"] as const) {
    const socket = await world.dial(protocol);
    if (protocol === "mysql") await once(socket, "data");
    socket.write("\x16\x03\x01\x00\x05hello this is not TLS at all, whatever the first bytes say");
    socket.resume();
    await once(socket, "close");
    await expect.poll(async () => (await offences()).join()).toContain(`the port for ${protocol} was disconnected`);
  }
  await expect.poll(async () => (await offences()).length).toBe(5);
});

test("a client that leaves, or that does not trust the port's certificate, is not audited", async () => {
  const before = (await offences()).length;
  for (const protocol of ["mysql", "mongodb", "redis", "postgres"] as const) (await world.dial(protocol)).end().resume();
  const distrustful = connect({ socket: await world.dial("redis"), host: "127.0.0.1" });
  await once(distrustful, "error");
  // One of which the event is sure to come, behind those.
  const last = await world.dial("postgres");
  last.write(Buffer.from("7fffffff00030000", "hex"));
  await ended(last);
  await expect.poll(async () => (await offences()).length).toBe(before + 1);
});

test("MySQL: a login packet of 16 MB is refused by its header, and packets out of order too", async () => {
  for (const bytes of [Buffer.from("ffffff01", "hex"), Buffer.from("20000005", "hex")]) {
    const socket = await world.dial("mysql");
    await once(socket, "data");
    socket.write(bytes);
    socket.resume();
    await once(socket, "close");
  }
});

test("thousands of silent connections from one address leave room for others: the oldest ones are dropped", { timeout: 60_000 }, async () => {
  const silent = await Promise.all(Array.from({ length: 4_300 }, async () => await world.dial("redis")));
  await until(
    "the oldest ones are dropped",
    async () => silent.filter((socket) => socket.resume() && (socket.destroyed || socket.readableEnded)).length >= 200,
  );
  const tls = await world.tls(await world.dial("redis"), await world.certificate("redis", "reader"));
  tls.write("still served");
  const [bytes] = (await once(tls, "data")) as [Buffer];
  expect(String(bytes)).toBe("still served");
  tls.destroy();
  for (const socket of silent) socket.destroy();
});
