import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { lockOf } from "../../test/inside/database-user.ts";
import { type DbStreams, dbStreams, request, type StreamOptions, type TlsKeys } from "./testing/db-streams.ts";

describe("a refused stream to a database", () => {
  let streams: DbStreams;
  beforeAll(async () => {
    streams = await dbStreams();
  });
  afterAll(async () => await streams?.[Symbol.asyncDispose]());

  test.for<readonly [name: string, user: (all: Pick<DbStreams, "own" | "foreign">) => Promise<TlsKeys | undefined>, StreamOptions, string]>([
    ["a client without a certificate", async () => undefined, {}, "unauthenticated"],
    ["a user of another authority", ({ foreign: other }) => other.user("alice"), {}, "unauthenticated"],
    ["an expired certificate", ({ own: mine }) => mine.user("alice", { validBefore: new Date(Date.now() - 1000) }), {}, "unauthenticated"],
    ["a certificate for another cluster", ({ own: mine }) => mine.user("alice", { cluster: "other" }), {}, "unauthenticated"],
    ["a host in a user's place", ({ own: mine }) => mine.host("web-1"), {}, "unauthenticated"],
    ["a user whose role is about other databases", ({ own: mine }) => mine.user("alice"), { role: { labels: { env: "prod" } } }, "denied"],
    ["a user without this account", ({ own: mine }) => mine.user("alice"), { role: { users: ["writer"] } }, "denied"],
    ["a user without this logical database", ({ own: mine }) => mine.user("alice"), { role: { names: ["1"] } }, "denied"],
    ["a user whom a role denies the account", ({ own: mine }) => mine.user("alice"), { role: { deny: { db_users: ["reader"] } } }, "denied"],
    ["a user without a role", ({ own: mine }) => mine.user("alice", { roles: [] }), {}, "denied"],
    ["a user whose role this agent cannot read", ({ own: mine }) => mine.user("alice"), { access: { unreadable: ["access"] } }, "denied"],
    ["a certificate for another address", ({ own: mine }) => mine.user("alice", { sourceIp: "198.51.100.1" }), {}, "denied"],
    ["a certificate for another database only", ({ own: mine }) => mine.user("alice", { route: { kind: "db", name: "billing" } }), {}, "denied"],
    [
      "a certificate for an application of this name",
      ({ own: mine }) => mine.user("alice", { route: { kind: "app", name: "orders" } }),
      {},
      "denied",
    ],
    ["a locked user", ({ own: mine }) => mine.user("alice"), { access: { locks: [lockOf("alice")] } }, "denied"],
  ])("refuses %s before the protocol, and records it", async ([, user, options, code]) => {
    const { answer, events } = await streams.refusal(await user(streams), options);
    expect(answer).toMatchObject({ ok: false, error: { code } });
    expect(events).toMatchObject([{ event: "auth", db_service: "orders" }]);
  });

  test.for<[string, () => Buffer, object]>([
    ["no proof, whose user is advised to update", () => Buffer.alloc(0), { code: "unsupported", hint: expect.stringMatching(/update tsh/) }],
    ["a proof that is longer than any", () => Buffer.concat([Buffer.of(0, 0, 9, 0), Buffer.alloc(9 * 256, 0xdb)]), { code: "invalid" }],
    ["a proof of a later version", () => Buffer.of(0, 0, 0, 2, 0xdb, 2), { code: "unsupported", hint: expect.stringMatching(/upgrade the cluster/) }],
    ["garbage", () => Buffer.concat([Buffer.of(0, 0, 0, 40, 0xdb, 1), Buffer.alloc(38, 0xff)]), { code: "invalid" }],
  ])("a client with %s", async ([, proof, error]) => {
    const { answer, events } = await streams.refusal(streams.alice, {}, request, proof());
    expect(answer).toMatchObject({ ok: false, error });
    expect(events).toEqual([]);
  });

  test.for<[string, Partial<StreamRequest<"db">>]>([
    ["the database", { target: "payroll" }],
    ["the account", { parameters: { ...request.parameters, user: "root" } }],
    ["the logical database", { parameters: { ...request.parameters, name: "1" } }],
    ["the host", { parameters: { ...request.parameters, host: "elsewhere" } }],
    ["the address that the client reached", { parameters: { ...request.parameters, at: "127.0.0.1:1" } }],
    ["the account by leaving it out", { parameters: { ...request.parameters, user: "" } }],
  ])("a proxy that changes %s gets nothing", async ([, change]) => {
    const { answer, events } = await streams.refusal(streams.alice, {}, { ...request, ...change });
    expect(answer).toMatchObject({ ok: false });
    expect(events).toEqual([]);
  });
});
