import fc from "fast-check";
import { expect, test } from "vitest";
import { makeAuditEvent, maxAuditEvent } from "../../../core/audit/audit-event.ts";
import { newEventUid } from "../../../core/audit/event-uid.ts";
import { maxParameters, maxQuery } from "../../../core/kinds/db/db-events.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { cappedQuery, cappedValue } from "../capped-text.ts";
import { describedDatabase } from "./described-database.ts";
import { fitEvent } from "./fit-event.ts";

const now = new Date("2026-11-28T12:00:00Z");
const labels = Object.fromEntries(Array.from({ length: 100 }, (_none, index) => [`label-${index}`, '"'.repeat(256)]));
const long = "\u0001".repeat(256);
const session = {
  ...{ server_id: "i".repeat(36), server_name: "n".repeat(256), user: "u".repeat(256), sid: "s".repeat(36) },
  ...{ db_service: "d".repeat(64), db_protocol: "postgres", db_uri: "é".repeat(2_000), db_user: long, db_name: long, db_member: "m".repeat(256) },
  ...describedDatabase(
    { labels, origin: "static" },
    Array.from({ length: 100 }, () => '"'.repeat(300)),
  ),
};

function bytesOf(event: object): number {
  const made = makeAuditEvent({ ...fitEvent(event), ...session } as never, { clusterName: "c".repeat(64), now, uid: newEventUid(now) });
  return Buffer.byteLength(JSON.stringify(made));
}

test("whatever a client states, its event is one that the auth service takes", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\n", "é", "\u0001", "🙂"), minLength: 200, maxLength: 400, size: "max" });
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 30, maxLength: maxParameters, size: "max" }),
      fc.constantFrom("x", '"', "é", "\u0001"),
      (texts, letter) => {
        const query = cappedQuery(Buffer.from(letter.repeat(maxQuery)));
        const values = texts.map((one) => cappedValue(one));
        expect(bytesOf({ event: "db.session.query", success: true, ...query, db_query_parameters: values })).toBeLessThan(maxAuditEvent);
      },
    ),
    { numRuns: someRuns(50) },
  );
  const settings = Array.from({ length: 64 }, () => "s".repeat(2_000));
  expect(bytesOf({ event: "db.session.start", success: true, settings })).toBeLessThan(maxAuditEvent);
});

test("parameters that fit stay as they are; of others the first ones stay, and a mark", () => {
  const event = { event: "db.session.query", success: true, db_query: "q".repeat(16_384) };
  const some = { ...event, db_query_parameters: ["a".repeat(256), null] };
  expect(fitEvent(some)).toEqual(some);
  const parameters = Array.from({ length: 64 }, () => '"'.repeat(256));
  expect(fitEvent({ ...event, db_query_parameters: parameters }).db_query_parameters).toEqual([...parameters.slice(0, 63), "… (cut)"]);
});

test("labels and roles of a session: by name, as many as fit", () => {
  expect(describedDatabase({ labels: { b: "2", a: "1" }, origin: "dynamic" }, ["writers"])).toEqual({
    ...{ db_type: "self-hosted", db_origin: "dynamic", db_labels: { a: "1", b: "2" }, db_roles: ["writers"] },
  });
  expect(describedDatabase({ labels: {}, origin: "static" }, [])).toEqual({ db_type: "self-hosted", db_origin: "static" });
});
