import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { readDocument } from "../resources/document.ts";
import { auditEventDocument, clipCommand, makeAuditEvent, maxAuditEvent, readReportedEvent, withoutNewerFields } from "./audit-event.ts";
import type { AuditFacts } from "./audit-events.ts";
import { maxAuditCommand } from "./event-spec.ts";

const origin = { clusterName: "test", now: new Date("2026-01-02T03:04:05.678Z"), uid: "7f3b1c80-5a1e-4e6f-9d0c-2b8a4f6e1d3c" };
const session = { server_id: "s", server_name: "web1", user: "alice", login: "root", sid: "1" };

test.for<[facts: AuditFacts, code: string]>([
  [{ event: "user.login", user: "alice", success: true }, "T1000I"],
  [{ event: "user.login", user: "alice", success: false, error: "wrong" }, "T1000W"],
  [{ event: "session.start", ...session, interactive: true }, "T2000I"],
  [{ event: "session.end", ...session, exit_code: 0 }, "T2004I"],
  [{ event: "exec", ...session, command: "id", exit_code: 1 }, "T3002I"],
  [{ event: "exec", ...session, command: "id", error: "no such user" }, "T3002E"],
  [{ event: "auth", error: "login not listed" }, "T3007W"],
  [{ event: "instance.join", role: "node", server_name: "web1", success: false, error: "expired" }, "TJ002W"],
])("%j has code %s and reads back the same", ([facts, code]) => {
  const event = makeAuditEvent(facts, origin);
  expect(event).toMatchObject({ code, time: "2026-01-02T03:04:05.678Z", cluster_name: "test", uid: origin.uid });
  expect(readDocument(auditEventDocument, JSON.stringify(event))).toEqual(event);
});

test("an unknown field is refused, so that nothing is stored unnoticed", () => {
  const event = { ...makeAuditEvent({ event: "user.login", user: "alice", success: true }, origin), password: "x" };
  expect(() => readDocument(auditEventDocument, JSON.stringify(event))).toThrow(PlatformError);
});

const login = makeAuditEvent({ event: "user.login", user: "alice", success: true }, origin);
const issued = { event: "cert.create", user: "alice", name: "alice", kind: "user", expires: "2026-01-02T03:04:05.678Z" } as const;
const routed = makeAuditEvent({ ...issued, route_to_app: { name: "wiki" } }, origin);

test.for<readonly [name: string, event: object, kept: object, dropped: readonly string[]]>([
  ["as it is", login, login, []],
  ["without a field that is unknown", { ...login, password: "x" }, login, ["password"]],
  ["without several", { token: { a: 1 }, ...login, secrets: ["x"] }, login, ["token", "secrets"]],
  ["without one inside of a field", { ...routed, route_to_app: { name: "wiki", secret: "x" } }, routed, ["route_to_app.secret"]],
])("an event of a host is read %s", ([, event, kept, dropped]) => {
  expect(readReportedEvent(JSON.stringify(event))).toEqual({ event: kept, dropped });
});

test.for<readonly [name: string, event: object]>([
  ["of an unknown name", { ...login, event: "user.teleported" }],
  ["of an unknown name, with an unknown field", { ...login, event: "user.teleported", password: "x" }],
  ["without a field that it needs", { ...login, user: undefined, password: "x" }],
  ["with a value that it cannot have", { ...login, success: "yes", password: "x" }],
])("an event of a host %s is refused", ([, event]) => {
  expect(() => readReportedEvent(JSON.stringify(event))).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("of a host's event, what is accepted without a change stays so, and unknown fields add nothing", () => {
  const unknown = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "password")), fc.jsonValue());
  fc.assert(
    fc.property(fc.constantFrom(login, routed), unknown, (event, more) => {
      const json = JSON.stringify({ ...more, ...event });
      let strict: unknown;
      try {
        strict = readDocument(auditEventDocument, json);
      } catch {
        strict = undefined;
      }
      const { event: kept, dropped } = readReportedEvent(json);
      if (strict !== undefined) expect({ kept, dropped }).toEqual({ kept: strict, dropped: [] });
      // Optional fields of the event may be among the others.
      for (const name of dropped) expect(Object.hasOwn(kept, name)).toBe(false);
      expect(readDocument(auditEventDocument, JSON.stringify(kept))).toEqual(kept);
    }),
  );
});

test("an auth service of the version before gets an event without its newer fields", () => {
  const facts = { event: "app.session.start", server_id: "s", server_name: "web1", user: "alice", sid: "1", app_name: "pg" } as const;
  const older = makeAuditEvent(facts, origin);
  const event = makeAuditEvent({ ...facts, app_target_port: 5432, roles: ["access"], traits: { roles: ["x"] } }, origin);
  expect(JSON.parse(withoutNewerFields(JSON.stringify(event)) ?? "")).toEqual(older);
  for (const text of [JSON.stringify(older), JSON.stringify(login), "{", "7", ""]) expect(withoutNewerFields(text)).toBeUndefined();
});

test("the same of every event of a session with a database", () => {
  const session = { server_id: "s", server_name: "web1", user: "alice", sid: "1", db_service: "orders", db_protocol: "postgres" };
  const names = { db_uri: "127.0.0.1:5432", db_user: "reader", db_name: "orders" };
  const more = { db_type: "self-hosted", db_origin: "static" as const, db_labels: { env: "prod" }, db_roles: ["r"] };
  const events: readonly Extract<AuditFacts, { readonly db_service: string }>[] = [
    { ...session, ...names, event: "db.session.query", db_query: "select 1", success: true },
    { ...session, ...names, event: "db.session.postgres.statements.parse", db_query: "select 1", statement_name: "" },
    { ...session, ...names, event: "db.session.mysql.statements.prepare", db_query: "select 1" },
  ];
  for (const own of events) {
    const event = makeAuditEvent({ ...own, ...more }, origin);
    expect(JSON.parse(withoutNewerFields(JSON.stringify(event)) ?? "")).toEqual(makeAuditEvent(own, origin));
  }
});

test("an event that is too long is refused before it is parsed", () => {
  expect(() => readDocument(auditEventDocument, `"${"x".repeat(maxAuditEvent)}"`)).toThrow(/are allowed/);
});

test("a long command is cut with a mark", () => {
  expect(clipCommand("id")).toBe("id");
  const cut = clipCommand("x".repeat(maxAuditCommand + 1));
  expect(cut).toHaveLength(maxAuditCommand);
  expect(cut.endsWith("… (cut)")).toBe(true);
});

test("for any name of a peer, its event fits and is accepted", () => {
  const hostile = fc.string({ unit: anyCharacter, maxLength: 40_000 });
  fc.assert(
    fc.property(hostile, hostile, hostile, (user, command, error) => {
      const event = makeAuditEvent({ event: "exec", ...session, user, command: command.repeat(3), error: error.repeat(3) }, origin);
      expect(readDocument(auditEventDocument, JSON.stringify(event))).toMatchObject({ event: "exec", code: "T3002E" });
    }),
    { examples: [["\0".repeat(300), "\0".repeat(20_000), "\0".repeat(3_000)]] },
  );
});

test("hostile text only ever throws PlatformError", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        readDocument(auditEventDocument, text);
        readReportedEvent(text);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
  );
});
