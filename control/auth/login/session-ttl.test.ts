import fc from "fast-check";
import { expect, test } from "vitest";
import { authorize } from "../../../core/access/authorize.ts";
import { roleOf } from "../../../core/access/testing/role-of.ts";
import { parseDuration } from "../../../core/resources/duration.ts";
import { sessionSeconds } from "../certificates/user-identity.ts";

const ttl = fc.constantFrom("1s", "30s", "5m", "90m", "8h", "29h", "40h");
const line = fc.oneof(
  ttl.map((one) => `max_session_ttl=${one}`),
  fc.constantFrom("", "port_forwarding=false"),
);

test("a certificate never outlives the least TTL of the roles, nor 30 hours, whatever was wanted; and nothing is granted with it after that", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), fc.nat(200_000), (lines, wanted) => {
      const roles = lines.map((one, index) => roleOf(one, `role-${index}`));
      const seconds = sessionSeconds(roles, wanted);
      const caps = lines.flatMap((one) => (one.startsWith("max") ? [parseDuration(one.split("=")[1] ?? "")] : []));
      expect(seconds).toBeLessThanOrEqual(Math.min(30 * 3600, ...caps));
      expect(seconds).toBeLessThanOrEqual(Math.max(60, wanted));
      expect(seconds).toBeGreaterThan(0);
      expect(sessionSeconds([...roles, roleOf("max_session_ttl=10s", "more")], wanted)).toBeLessThanOrEqual(Math.min(10, seconds));
      const now = new Date("2026-11-20T12:00:00Z");
      const validBefore = new Date(now.getTime() + seconds * 1000);
      const identity = { kind: "user", name: "u", roles: ["all"], traits: {}, principals: {}, cluster: "c", validBefore } as const;
      const ask = { kind: "ssh", node: { id: "1", name: "n", labels: {} }, login: "root" } as const;
      const at = (ms: number) => () =>
        authorize({ identity, roles: [roleOf("allow root on *=*", "all")], locks: [], ask, now: new Date(validBefore.getTime() + ms) });
      expect(at(-1)).not.toThrow();
      expect(at(0)).toThrow(/expired/);
    }),
  );
});
