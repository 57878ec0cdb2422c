import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { readDocument } from "../resources/document.ts";
import { auditEventDocument, clipCommand, makeAuditEvent, maxAuditEvent } from "./audit-event.ts";
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
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
  );
});
