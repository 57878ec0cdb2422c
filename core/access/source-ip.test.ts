import { expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import { refuseSourceIp } from "./refuse.ts";
import { roleOf } from "./testing/role-of.ts";

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2"],
  traits: {},
  principals: {},
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

test.for<readonly [roles: readonly string[], bound: string | undefined, client: string | undefined, refusal: string | undefined]>([
  [["allow root"], undefined, "192.0.2.1", undefined],
  [["allow root"], undefined, undefined, undefined],
  [["pin_source_ip=false"], undefined, "192.0.2.1", undefined],
  [["pin_source_ip=true"], "192.0.2.1", "192.0.2.1", undefined],
  [["pin_source_ip=true"], "2001:db8::1", "2001:db8::1", undefined],
  [["pin_source_ip=true"], "192.0.2.1", "192.0.2.2", "bound to the address 192.0.2.1, and the client is at 192.0.2.2"],
  [["pin_source_ip=true"], "192.0.2.1", "", "the client's is not known here"],
  [["pin_source_ip=true"], "192.0.2.1", undefined, "the client's is not known here"],
  [["pin_source_ip=true"], undefined, "192.0.2.1", "this one has none"],
  [["pin_source_ip=false", "pin_source_ip=true"], undefined, "192.0.2.1", "this one has none"],
  [["pin_source_ip=true", ""], undefined, "192.0.2.1", "this one has none"],
  // The address in a certificate stays binding, even if the roles have changed since.
  [["pin_source_ip=false"], "192.0.2.1", "192.0.2.2", "bound to the address 192.0.2.1"],
  [["allow root"], "192.0.2.1", "192.0.2.1", undefined],
])("roles %j, bound to %s, client at %s: %s", ([lines, sourceIp, client, refusal]) => {
  const roles = lines.map((line, index) => roleOf(line, `role-${index + 1}`));
  const error = refuseSourceIp({ ...identity, sourceIp }, roles, client);
  if (refusal === undefined) expect(error).toBeUndefined();
  else expect(error?.message).toContain(refusal);
});
