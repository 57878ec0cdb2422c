import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { makeAuditEvent } from "./audit-event.ts";
import { recordedUser } from "./recorded-user.ts";

const origin = { clusterName: "test", now: new Date("2026-01-02T03:04:05.678Z"), uid: "7f3b1c80-5a1e-4e6f-9d0c-2b8a4f6e1d3c" };

test("roles and traits are recorded as they are", () => {
  const user = { roles: ["access", "dev"], traits: { logins: ["root"], teams: ["a", "b"], none: [] } };
  expect(recordedUser(user)).toEqual(user);
});

test("values that have no room are left out, with a mark", () => {
  const values = Array.from({ length: 200 }, (_, index) => `${index}`.padStart(100, "0"));
  const { traits } = recordedUser({ roles: [], traits: { logins: ["root"], teams: values, later: ["x"] } });
  expect(Object.keys(traits)).toEqual(["logins", "teams"]);
  expect(traits.teams?.length).toBeLessThan(100);
  expect(traits.teams?.at(-1)).toBe("… (cut)");
  expect(recordedUser({ roles: Array.from({ length: 100 }, () => "a"), traits: {} }).roles).toHaveLength(64);
});

test("whatever a certificate states, the start of its session is recorded", () => {
  const hostile = fc.string({ unit: anyCharacter, maxLength: 256 }).map((text) => text.slice(0, 256));
  const name = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 64 }).map((text) => text.slice(0, 64));
  const traits = fc.dictionary(name, fc.array(hostile, { maxLength: 256 }), { maxKeys: 40 });
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z0-9-]{1,64}$/), { maxLength: 100 }), traits, (roles, stated) => {
      const session = { server_id: "s", server_name: "apps-1", user: "alice", sid: "1", app_name: "orders" };
      const event = makeAuditEvent({ event: "app.session.start", ...session, ...recordedUser({ roles, traits: stated }) }, origin);
      expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThanOrEqual(65_536);
    }),
  );
});
