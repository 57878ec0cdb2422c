import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { u32 } from "../../../core/bytes/fields.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { openStream } from "./open-stream.ts";
import { accessOf } from "./testing/access-of.ts";
import { routingParts } from "./testing/routing-parts.ts";

const now = (): Date => new Date("2026-11-20T12:00:00Z");
const validBefore = new Date("2026-11-20T13:00:00Z");
const ann: UserIdentity = { kind: "user", name: "ann", roles: ["dev"], traits: {}, principals: {}, cluster: "c", validBefore };
const mark = { device: "otp", kind: "db", until: validBefore.toISOString() };
const locked: Lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "ann" } } };

interface Facts {
  readonly identity?: Partial<UserIdentity>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly locks?: readonly Lock[];
  readonly target?: string;
  /** Labels that the agents assign to the database `shop`. */
  readonly agents?: readonly string[];
}

/** A user's question for the server's number of connection 3000000000 of `shop`: what it answers, what the agents were asked, and what the audit log has. */
function ask({ identity, labels = { env: "test" }, locks = [], target = "shop", agents = ["test"] }: Facts) {
  const asked: unknown[] = [];
  const refused: unknown[] = [];
  const spec = { allow: { db_labels: labels, db_users: ["reader"], db_names: ["*"] }, options: { require_session_mfa: true } };
  const role = roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "dev" }, spec });
  const registry = new TunnelRegistry<RoutedTunnel>();
  for (const [index, env] of agents.entries()) {
    const tunnel = fakeTunnel({ id: `${index}` });
    registry.add(tunnel);
    registry.offer(tunnel, [{ kind: "db", name: "shop", labels: { env }, details: { protocol: "mysql" } }]);
  }
  const access = accessOf({ roles: [role], locks });
  const services = {
    ...routingParts(access),
    registry,
    running: { add: () => {}, count: () => 0, extend: () => () => {} },
    between: () => Promise.reject(new Error("this test expects that nothing is recorded")),
    audit: { emit: () => {}, emitRefusal: (event: object) => void refused.push(event) },
    cancels: { threadOf: async (connection: object, peer: string) => asked.push(connection, peer) && 42 },
    now,
  };
  const request = { kind: "cancel", target, parameters: { key: "b2d05e00" } } as const;
  const answer = openStream({ identity: { ...ann, ...identity }, request, clientAddress: "192.0.2.7:1" }, services);
  answer.catch(() => {});
  return { answer, asked, refused };
}

test.for<readonly [who: string, facts: Facts]>([
  ["may reach the database, whatever the roles ask for at the beginning of a session", {}],
  ["has a certificate for this database", { identity: { route: { kind: "db", name: "shop", account: "reader" } } }],
  ["has a certificate that a one-time code confirmed for this database", { identity: { mfa: { ...mark, name: "shop" } } }],
])("a user who %s gets the number", async ([, facts]) => {
  const { answer, asked, refused } = ask(facts);
  expect(await buffer(await answer)).toEqual(Buffer.concat([encodeStreamReply({ ok: true }), u32(42)]));
  expect(asked).toEqual([{ database: "shop", own: 3_000_000_000 }, "192.0.2.7:1"]);
  expect(refused).toEqual([]);
});

test.for<readonly [who: string, facts: Facts, code: string]>([
  ["may not reach the database", { labels: { env: "prod" } }, "denied"],
  ["is locked", { locks: [locked] }, "denied"],
  ["has a certificate for another database", { identity: { route: { kind: "db", name: "hr" } } }, "denied"],
  ["has a certificate that a one-time code confirmed for another database", { identity: { mfa: { ...mark, name: "hr" } } }, "denied"],
  ["has a certificate for another address", { identity: { sourceIp: "192.0.2.8" } }, "denied"],
  ["asks about a database whose agents assign differing labels", { agents: ["test", "prod"] }, "conflict"],
])("for a user who %s no agent is asked, and the refusal is recorded", async ([, facts, code]) => {
  const { answer, asked, refused } = ask(facts);
  await expect(answer).rejects.toMatchObject({ code });
  expect(asked).toEqual([]);
  expect(refused).toMatchObject([{ event: "auth", user: "ann", db_service: "shop" }]);
});

test("a database that nobody offers has no connections", async () => {
  await expect(ask({ target: "hr" }).answer).rejects.toMatchObject({ code: "not_found" });
});
