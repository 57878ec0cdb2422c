import { describe, expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { MfaMark, UserIdentity } from "../identity/identity.ts";
import { serviceNames } from "../kinds/service-kinds.ts";
import type { Ask, JoinAsk } from "./ask.ts";
import { type AuthorizeFacts, authorize } from "./authorize.ts";
import { authorizeJoin } from "./authorize-join.ts";
import { explainAccess } from "./explain-access.ts";
import { askOf, roleOf } from "./testing/role-of.ts";

const now = new Date("2026-11-20T12:00:00Z");
const until = "2026-11-20T20:00:00.000Z";

function identity(mfa?: Pick<MfaMark, "kind" | "name">): UserIdentity {
  const roles = ["role-1", "role-2"];
  const validBefore = new Date("2026-11-20T12:01:00Z");
  return {
    kind: "user",
    name: "alice",
    roles,
    traits: {},
    principals: {},
    cluster: "c",
    validBefore,
    ...(mfa && { mfa: { device: "otp", until, ...mfa } }),
  };
}

function outcome(user: UserIdentity, lines: readonly string[], ask: Ask, more: Partial<AuthorizeFacts> = {}): string {
  const kind = ask.kind === "join" || ask.kind === "resource" ? "ssh" : ask.kind;
  const roles = lines.map((line, index) => roleOf(line, `role-${index + 1}`, kind));
  try {
    authorize({ identity: user, roles, locks: [], ask, now, ...more });
    return "yes";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown.code;
    throw thrown;
  }
}

const demand = "require_session_mfa=true";

describe.for(serviceNames)("a role that demands a code at %s", (kind) => {
  const prod = askOf(kind, "root", "env=prod");
  const dev = askOf(kind, "root", "env=dev");
  const pair = [`allow root on env=prod; ${demand}`, "allow root on env=dev"];
  const own = { kind, name: kind === "ssh" ? "1" : "n" };

  test("of the roles of dev and prod, prod alone demands it", () => {
    expect(outcome(identity(), pair, prod)).toBe("mfa_required");
    expect(outcome(identity(), pair, dev)).toBe("yes");
  });

  test("one of several roles that allow it is enough", () => {
    expect(outcome(identity(), [`allow root on env=prod; ${demand}`, "allow root on *=*"], prod)).toBe("mfa_required");
    expect(outcome(identity(), ["allow root on *=*; require_session_mfa=false", `allow root on env=prod; ${demand}`], prod)).toBe("mfa_required");
    expect(outcome(identity(), ["allow root on *=*; require_session_mfa=false"], prod)).toBe("yes");
  });

  test("a role with only options binds its user everywhere", () => {
    expect(outcome(identity(), ["allow root on *=*", demand], dev)).toBe("mfa_required");
  });

  test("without access the user does not learn that a code is needed", () => {
    expect(outcome(identity(), [demand], prod)).toBe("denied");
    expect(outcome(identity(), [`allow root on env=prod; ${demand}`, "deny on env=prod"], prod)).toBe("denied");
  });

  test("a code for this resource opens it, and one for anything else does not", () => {
    expect(outcome(identity(own), pair, prod)).toBe("yes");
    const others = [{ kind, name: "other" }, ...serviceNames.filter((one) => one !== kind).map((one) => ({ kind: one, name: own.name }))];
    for (const other of [...others, { kind: "join", name: own.name }]) {
      expect(outcome(identity(other), pair, prod)).toBe("denied");
      // Not for what needs none either: the certificate is for one resource.
      expect(outcome(identity(other), pair, dev)).toBe("denied");
    }
  });

  test("a session that is open, and a list, need none", () => {
    expect(outcome(identity(), pair, prod, { isOpen: true })).toBe("yes");
    expect(outcome(identity(), pair, prod, { isBeforeMfa: true })).toBe("yes");
  });

  test("the explanation says that a code is needed", () => {
    const roles = pair.map((line, index) => roleOf(line, `role-${index + 1}`, kind));
    const user = { metadata: { name: "alice" }, spec: { roles: ["role-1", "role-2"] } };
    const explained = explainAccess({ user, roles, locks: [], ask: prod, now });
    expect(explained).toMatchObject({ allowed: true, reason: expect.stringContaining("needs a one-time code (role role-1") });
    expect(explainAccess({ user, roles, locks: [], ask: dev, now }).reason).not.toContain("code");
  });
});

test("another role's demand at one kind of service does not reach another kind", () => {
  const roles = [roleOf(`allow root on *=*; ${demand}`, "role-1", "db"), roleOf("allow root on *=*", "role-2", "ssh")];
  expect(() => authorize({ identity: identity(), roles, locks: [], ask: askOf("ssh", "root", "env=prod"), now })).not.toThrow();
});

test("routing before the login is known asks where any of its roles demands a code", () => {
  const ask: Ask = { kind: "ssh", node: { id: "1", name: "n", labels: { env: "prod" } } };
  expect(outcome(identity(), [`allow root on *=*; ${demand}`, "allow app on *=*"], ask)).toBe("mfa_required");
  expect(outcome(identity(), [`allow root on env=dev; ${demand}`, "allow app on *=*"], ask)).toBe("yes");
});

test("where the agent decides with a name that is not known here, a code is demanded unless a role without the demand may allow it", () => {
  const ask = askOf("db", "root", "env=prod");
  const open = "allow root on env=prod";
  const partial = { isPartial: true } as const;
  expect(outcome(identity(), [`${open}; ${demand}`, open], ask)).toBe("mfa_required");
  expect(outcome(identity(), [`${open}; ${demand}`, open], ask, partial)).toBe("yes");
  expect(outcome(identity(), [`${open}; ${demand}`], ask, partial)).toBe("mfa_required");
  expect(outcome(identity(), [`${open}; ${demand}`, "allow root on env=dev"], ask, partial)).toBe("mfa_required");
  expect(outcome(identity(), [demand, open], ask, partial)).toBe("mfa_required");
});

test("joining a session needs a code for this session where any role demands one", () => {
  const session = { sid: "s-1", kind: "ssh", user: "alice", login: "root", roles: ["role-1"], mode: "peer" } as const;
  const ask: JoinAsk = { kind: "join", node: { id: "1", name: "n" }, session };
  expect(outcome(identity(), [`allow root on env=prod; ${demand}`], ask)).toBe("mfa_required");
  expect(outcome(identity({ kind: "join", name: "s-1" }), [`allow root on env=prod; ${demand}`], ask)).toBe("yes");
  expect(outcome(identity({ kind: "join", name: "s-2" }), [`allow root on env=prod; ${demand}`], ask)).toBe("denied");
  expect(outcome(identity({ kind: "ssh", name: "1" }), [`allow root on env=prod; ${demand}`], ask)).toBe("denied");
  const roles = [roleOf(demand, "role-1")];
  const target = { ...session, server_id: "1", server_name: "n" };
  const facts = { roles, locks: [], now, sid: "s-1", mode: "peer", session: target } as const;
  expect(() => authorizeJoin({ ...facts, identity: identity({ kind: "join", name: "s-1" }) })).not.toThrow();
  expect(() => authorizeJoin({ ...facts, identity: identity() })).toThrow(expect.objectContaining({ code: "mfa_required" }));
});

test("a certificate with the mark reads and changes nothing of the cluster", () => {
  const roles = [{ ...roleOf("", "role-1"), spec: { allow: { rules: [{ resources: ["*"], verbs: ["*" as const] }] } } }];
  const ask: Ask = { kind: "resource", resource: "user", verb: "list" };
  expect(() => authorize({ identity: identity(), roles, locks: [], ask, now })).not.toThrow();
  expect(() => authorize({ identity: identity({ kind: "ssh", name: "1" }), roles, locks: [], ask, now })).toThrow(
    expect.objectContaining({ code: "denied" }),
  );
});
