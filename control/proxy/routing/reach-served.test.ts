import { type Duplex, PassThrough } from "node:stream";
import { beforeAll, expect, test } from "vitest";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { encodeStreamReply, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { socketPair } from "../../../test/inside/socket-pair.ts";
import { generateKeys } from "../../../test/inside/user-keys.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { LastAgents } from "./last-agents.ts";
import { reachServed, type ServedWay } from "./reach-served.ts";
import { RunningStreams } from "./running-streams.ts";
import { accessOf } from "./testing/access-of.ts";
import { routingParts } from "./testing/routing-parts.ts";

let authorities: InsideAuthorities;
let credentials: HostCredentials;
beforeAll(async () => {
  authorities = await insideAuthorities();
  credentials = await authorities.host("db-1");
});

const now = (): Date => new Date("2026-11-20T12:00:00Z");
const labels = { env: "test" };
const spec = { allow: { db_labels: labels, db_users: ["reader"], db_names: ["*"] } };
const role = roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "dev" }, spec });
const validBefore = new Date("2026-11-20T13:00:00Z");
const ann: UserIdentity = { kind: "user", name: "ann", roles: ["dev"], traits: {}, principals: {}, cluster: "c", validBefore };
const request = { kind: "db", target: "shop", parameters: { user: "reader", name: "", host: "", at: "" } } as const;
const refusal = new PlatformError("limit", "no more sessions");

/** What an agent does with a stream of a user. */
type Answer = "accepts" | "opens none" | "refuses" | "refuses inside" | "leaves" | "hangs";

async function answer(stream: Duplex, how: Answer): Promise<void> {
  await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 5_000, what: "request" });
  if (how === "hangs") return;
  if (how === "leaves") return void stream.destroy();
  if (how === "refuses") return void stream.end(encodeStreamReply({ ok: false, error: refusal }));
  stream.write(encodeStreamReply({ ok: true }));
  const tls = await terminateTls(stream, { context: hostContext(credentials), alpn: alpn.service });
  tls.on("error", () => {}).write(encodeStreamReply(how === "accepts" ? { ok: true } : { ok: false, error: refusal }));
}

type Sign = ServedWay<"db">["sign"];

/** A proxy with agents `a` and `b`, the first of which has served the last connection of the user to this database. `streams`: those that the user has. */
async function world(how: Answer, streams: Readonly<Record<string, number>> = {}) {
  const opened: string[] = [];
  const registry = new TunnelRegistry<RoutedTunnel>();
  const asked = Promise.withResolvers<void>();
  for (const id of ["a", "b"]) {
    const openStream = async (): Promise<Duplex> => {
      opened.push(id);
      if (how === "opens none" && id === "a") throw refusal;
      const [near, far] = await socketPair();
      answer(far, id === "a" ? how : "accepts").then(asked.resolve, () => {});
      return near;
    };
    const tunnel = fakeTunnel({ id, openStream });
    registry.add(tunnel);
    registry.offer(tunnel, [{ kind: "db", name: "shop", labels, details: { protocol: "mysql" } }]);
  }
  const last = new LastAgents();
  last.used(ann, request, "a");
  const running = new RunningStreams({ log: silentLog, now });
  for (const [host, count] of Object.entries(streams))
    for (let index = 0; index < count; index += 1) running.add({ identity: ann, host, login: "", channel: new PassThrough() });
  const access = accessOf({ roles: [role], hostCaPem: [authorities.hostCaPem] });
  const stop = new AbortController();
  const services = {
    ...routingParts(access),
    registry,
    running,
    between: async (channel: Duplex) => channel,
    now,
    signal: stop.signal,
  };
  const left = new AbortController();
  const certificateFor: Sign = async ({ tlsPublicKey }) => (await authorities.user("ann", {}, { ...generateKeys(), tlsPublicKey })).tlsCertificate;
  const reach = async (sign = certificateFor): Promise<void> => {
    const way = { clientAddress: "192.0.2.7:1", identify: async () => ann, request: () => request, last, sign, left: left.signal };
    (await reachServed<"db">(way, services)).destroy();
  };
  return { reach, certificateFor, opened, preferred: () => last.of(ann, request), left, asked: asked.promise };
}

test("the agent that has let the user in is preferred the next time", async () => {
  const { reach, opened, preferred } = await world("accepts");
  await reach();
  expect([opened, preferred()]).toEqual([["a"], "a"]);
});

test("an agent that opens no stream is preferred no longer, but the one that did in its place", async () => {
  const { reach, opened, preferred } = await world("opens none");
  await reach();
  expect([opened, preferred()]).toEqual([["a", "b"], "b"]);
});

test.for(["refuses", "refuses inside", "leaves"] as const)("an agent that %s is preferred no longer", async (how) => {
  const { reach, opened, preferred } = await world(how);
  await expect(reach()).rejects.toThrow(PlatformError);
  expect([opened, preferred()]).toEqual([["a"], undefined]);
});

test("an agent that hangs is preferred no longer once its client has left", async () => {
  const { reach, preferred, left, asked } = await world("hangs");
  const reaching = expect(reach()).rejects.toThrow(PlatformError);
  await asked;
  left.abort();
  await reaching;
  expect(preferred()).toBeUndefined();
});

test("an agent stays preferred when the auth service signs nothing", async () => {
  const { reach, preferred } = await world("accepts");
  await expect(reach(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(preferred()).toBe("a");
});

test("an agent that fails is forgotten before the certificate is signed, and the one in its place is preferred once it has let the user in", async () => {
  const { reach, certificateFor, preferred } = await world("opens none");
  const atSign: (string | undefined)[] = [];
  await reach(async (ask) => {
    atSign.push(preferred());
    return await certificateFor(ask);
  });
  expect([atSign, preferred()]).toEqual([[undefined], "b"]);
});

test("an agent at which the user has half of the maximum of streams is preferred no longer", async () => {
  const agentOf = async (a: number): Promise<string | undefined> => {
    const { reach, opened } = await world("accepts", { a, b: 400 });
    await reach();
    return opened.join();
  };
  for (let round = 0; round < 8; round += 1) expect(await agentOf(249)).toBe("a");
  const used = new Set<string | undefined>();
  for (let round = 0; round < 50 && used.size < 2; round += 1) used.add(await agentOf(250));
  expect(used).toEqual(new Set(["a", "b"]));
});

test("in place of an agent at which the user has the maximum of streams another one is used, and preferred; if all are full, that limit is the reason", async () => {
  for (let round = 0; round < 8; round += 1) {
    const { reach, opened, preferred } = await world("accepts", { a: 500, b: 499 });
    await reach();
    expect([opened.at(-1), preferred()]).toEqual(["b", "b"]);
  }
  for (const how of ["accepts", "opens none", "accepts", "opens none", "accepts", "opens none"] as const) {
    const { reach, opened } = await world(how, { a: 500, b: 500 });
    await expect(reach()).rejects.toMatchObject({ code: "limit" });
    expect(opened.toSorted()).toEqual(["a", "b"]);
  }
});
