import { describe, expect, test } from "vitest";
import { toPlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { Lock } from "../resources/lock.ts";
import { type Role, roleSchema } from "../resources/role.ts";
import type { JoinMode } from "../resources/session.ts";
import type { JoinGrant } from "./authorize.ts";
import { authorizeJoin, type JoinTarget, joinableModes, joinRefusal } from "./authorize-join.ts";

const now = new Date("2026-01-02T03:04:05Z");
const sid = "11111111-1111-4111-8111-111111111111";
const session: JoinTarget = { kind: "ssh", server_id: "h1", server_name: "web-1", user: "alice", roles: ["dev"], login: "root" };

function role(name: string, spec: Role["spec"]): Role {
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec });
}

const watcher = role("watcher", { allow: { join_sessions: [{ name: "w", kinds: ["ssh"], roles: ["dev"], modes: ["observer"] }] } });
const strict = role("strict", { options: { client_idle_timeout: "5m", max_connections: 2, lock: "strict" } });

function lock(target: Lock["spec"]["target"]): Lock {
  return { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target, message: "not today" } };
}

interface Case {
  readonly user?: string;
  readonly held?: readonly Role[];
  readonly locks?: readonly Lock[];
  readonly session?: JoinTarget | undefined;
  readonly mode?: JoinMode;
  readonly validBefore?: Date;
}

function ask({ user = "bob", held = [], locks = [], mode = "observer", validBefore = new Date(now.getTime() + 1000), ...more }: Case): JoinGrant {
  const identity: UserIdentity = {
    kind: "user",
    name: user,
    roles: held.map(({ metadata }) => metadata.name),
    traits: {},
    principals: {},
    cluster: "c",
    validBefore,
  };
  return authorizeJoin({ identity, roles: [watcher, strict], locks, now, sid, mode, session: "session" in more ? more.session : session });
}

function refused(facts: Case): { readonly code: string; readonly message: string; readonly reason: string } {
  try {
    ask(facts);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    return { code: error.code, message: error.message, reason: joinRefusal(error) };
  }
  throw new Error("access was granted");
}

describe("a grant to join", () => {
  test("names the session and the mode, with the options of all roles of the user", () => {
    const grant = ask({ held: [watcher, strict] });
    expect(grant.ask.session).toEqual({
      sid: "11111111-1111-4111-8111-111111111111",
      kind: "ssh",
      user: "alice",
      login: "root",
      roles: ["dev"],
      mode: "observer",
    });
    expect(grant).toMatchObject({ maxConnections: 2, rules: { idleTimeoutSeconds: 300, strictLocks: true } });
  });

  test("of one's own session needs no role, and no role can take it away", () => {
    expect(ask({ user: "alice", mode: "peer" }).ask.session?.mode).toBe("peer");
    expect(joinableModes({ ...ask({ user: "alice" }).identity }, [], session)).toEqual(["observer", "peer"]);
  });
});

describe("a refusal to join", () => {
  const unseen = `there is no running session "${sid}" that you may join`;

  test("reveals nothing about a hidden session to the user, and the reason to the audit log", () => {
    const [there, not] = [refused({}), refused({ session: undefined })];
    expect([there.code, there.message]).toEqual(["not_found", unseen]);
    expect([not.code, not.message]).toEqual([there.code, there.message]);
    expect(there.reason).toBe("access denied: bob may not join sessions of alice on web-1 as observer: no role's join_sessions allows it");
    expect(not.reason).toBe("no such session runs");
  });

  test("has the reason when the user may see the session", () => {
    expect(refused({ held: [watcher], mode: "peer" })).toMatchObject({ code: "denied", message: expect.stringContaining("as peer: no role's") });
  });

  test("of an expired certificate or a locked user is the same for every session", () => {
    for (const facts of [{ validBefore: now }, { locks: [lock({ user: "bob" })] }]) {
      expect(refused({ ...facts, session: undefined })).toEqual(refused(facts));
      expect(refused(facts).message).not.toBe(unseen);
    }
  });

  test("by a lock on the host, or on the login of the session, applies to users who may see it", () => {
    for (const target of [{ server_id: "h1" }, { login: "root" }]) {
      expect(refused({ held: [watcher], locks: [lock(target)] }).message).toContain("not today");
      expect(refused({ locks: [lock(target)] }).message).toBe(unseen);
    }
  });

  test("does not follow from a role that the user does not hold, though it exists", () => {
    expect(refused({ held: [strict] }).message).toBe(unseen);
  });
});

test.for([
  ["require_session_join", { allow: { require_session_join: [{ name: "x" }] } }, /there are no moderated sessions/],
  [
    "a moderator",
    { allow: { join_sessions: [{ name: "w", kinds: ["ssh"], roles: ["*"], modes: ["moderator"] }] } },
    /there are no moderated sessions/,
  ],
  ["another kind", { allow: { join_sessions: [{ name: "w", kinds: ["db"], roles: ["*"], modes: ["peer"] }] } }, /no other kind/],
  ["another way to record", { options: { record_session: { default: "sometimes" } } }, /strict or best_effort/],
] as const)("a role with %s is refused with the reason", ([, spec, words]) => {
  const parsed = roleSchema.safeParse({ kind: "role", version: "v7", metadata: { name: "r" }, spec });
  expect(parsed.error?.message).toMatch(words);
});
