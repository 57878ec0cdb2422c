import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { makeAuditEvent } from "./audit-event.ts";
import type { AuditFacts } from "./audit-events.ts";
import { EventLines } from "./event-lines.ts";

const now = new Date("2026-01-02T03:04:05.678Z");
const session = {
  server_id: "s",
  server_name: "db-1",
  user: "alice",
  sid: "1",
  db_service: "orders",
  db_protocol: "postgres",
  db_uri: "127.0.0.1:5432",
};
const names = { db_user: "reader", db_name: "shop" };

/** The line, and what `makeAuditEvent` has of the same uid; the error of each in its place. */
function both(lines: EventLines, facts: AuditFacts, shared: object): readonly [line: string, expected: string] {
  let line: string;
  try {
    line = lines.write(facts, now, shared);
  } catch (thrown) {
    line = String(thrown);
  }
  const uid = /"uid":"([0-9a-f-]{36})"/.exec(line)?.[1] ?? "7f3b1c80-5a1e-4e6f-9d0c-2b8a4f6e1d3c";
  try {
    return [line, JSON.stringify(makeAuditEvent(facts, { clusterName: "test", now, uid }))];
  } catch (thrown) {
    return [line, String(thrown)];
  }
}

const text = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), fc.string({ unit: anyCharacter, maxLength: 3_000 }));
const texts = fc.array(fc.option(text), { maxLength: 66 });
const any = fc.oneof(text, fc.boolean(), fc.integer(), texts);
const sharedFields = fc.record(
  {
    db_type: text,
    db_origin: fc.constantFrom("static", "dynamic"),
    db_labels: fc.dictionary(text, text),
    db_roles: fc.array(text),
    "addr.remote": text,
  },
  { requiredKeys: [] },
);
const ownFields = fc.oneof(
  fc.record(
    {
      event: fc.constant("db.session.query"),
      db_query: text,
      success: fc.boolean(),
      error: text,
      db_query_bytes: fc.nat(),
      db_query_parameters: texts,
    },
    { requiredKeys: ["event", "db_query", "success"] },
  ),
  fc.record({ event: fc.constant("db.session.postgres.statements.bind"), statement_name: text, portal_name: text, parameters: texts }),
  fc.record({ event: fc.constant("db.session.user.create"), username: text, roles: fc.array(text), success: fc.boolean() }),
  fc.record(
    // Whatever a service may state by mistake, fields of the session among it.
    {
      event: fc.constantFrom("db.session.query", "exec"),
      db_query: any,
      success: any,
      db_roles: any,
      password: any,
      user: any,
      error: fc.constant(undefined),
    },
    { requiredKeys: ["event"] },
  ),
);

test("events that share fields are written as if each were made by itself, and what may not be recorded is refused in the same words", () => {
  fc.assert(
    fc.property(sharedFields, fc.array(ownFields, { minLength: 1, maxLength: 6 }), (more, events) => {
      const lines = new EventLines("test");
      const shared = { ...session, ...names, ...more };
      for (const own of [...events, ...events]) {
        // Types of events do not know what an arbitrary object has.
        const [line, expected] = both(lines, { ...own, ...shared } as unknown as AuditFacts, shared);
        expect(line).toBe(expected);
      }
    }),
  );
});

test("sessions do not get each other's fields", () => {
  const lines = new EventLines("test");
  for (const sid of ["1", "2", "1", "2"]) {
    const shared = { ...session, ...names, sid };
    const facts = { event: "db.session.query", db_query: "select 1", success: true, ...shared } as const;
    for (const _ of [1, 2]) expect(JSON.parse(lines.write(facts, now, shared))).toMatchObject({ sid, db_query: "select 1" });
  }
});

test("each event has a uid of its own", () => {
  const lines = new EventLines("test");
  const shared = { ...session, ...names };
  const facts = { event: "db.session.query", db_query: "select 1", success: true, ...shared } as const;
  const uids = Array.from({ length: 100 }, () => JSON.parse(lines.write(facts, now, shared)).uid);
  expect(new Set(uids).size).toBe(100);
});
