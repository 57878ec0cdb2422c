import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Role } from "../../../core/resources/role.ts";
import { type Candidate, findTarget, type RecordedTarget, requireMfa, type TargetFacts } from "./find-target.ts";

const [idA, idB, idC] = ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map((first) => `${first}-1111-4111-8111-111111111111`) as [string, string, string];
const now = new Date("2026-11-22T12:00:00Z");
const since = "2026-11-20T10:00:00.000Z";

const role: Role = { kind: "role", version: "v7", metadata: { name: "ops" }, spec: { allow: { logins: ["root"], node_labels: { env: "prod" } } } };
const lock: Lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { server_id: idB } } };

const here = (id: string, labels = { env: "prod" }): Candidate => ({
  identity: { id },
  facts: { hostname: "web-1", labels },
  peer: "192.0.2.1:4000",
});
const away = (id: string, labels: Record<string, string> = { env: "prod" }): RecordedTarget => ({
  via: "record",
  identity: { id },
  facts: { hostname: "web-1", labels },
  since,
});

const identity = {
  kind: "user",
  name: "alice",
  roles: ["ops"],
  traits: {},
  principals: { ssh: { login: ["root"] } },
  cluster: "c",
  validBefore: new Date(8.64e15),
} as const;

function find(facts: Partial<TargetFacts<Candidate>>): string | PlatformError {
  const plain = { target: "web-1", candidates: [here(idA)], recorded: [], identity, roles: [role], locks: [], login: "root", clientIp: "", now };
  try {
    return findTarget({ ...plain, ...facts }).identity.id;
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
}

describe("a name means the one host that is connected", () => {
  test.for<[string, Partial<TargetFacts<Candidate>>]>([
    ["when no other is recorded under it", {}],
    ["when the record is its own", { recorded: [away(idA)] }],
    ["when the other one is none of this user's", { recorded: [away(idB, { env: "test" })] }],
    ["when the other one has no login for this user", { recorded: [away(idB, {})] }],
  ])("%s", ([, facts]) => {
    expect(find(facts)).toBe(idA);
  });
});

describe("a host that is away keeps its name", () => {
  test.for<[string, Partial<TargetFacts<Candidate>>]>([
    ["from one that joined since", { recorded: [away(idB)] }],
    ["also before the login is known", { recorded: [away(idB)], login: "" }],
    ["also while it is locked", { recorded: [away(idB)], locks: [lock] }],
    ["also beside one that this user may not reach", { candidates: [here(idA), here(idC, { env: "test" })], recorded: [away(idB)] }],
  ])("%s", ([, facts]) => {
    const refused = find(facts);
    expect(refused).toMatchObject({ code: "conflict", message: '"web-1" is the name of 2 hosts, and 1 of them not connected' });
    const hint = refused instanceof PlatformError ? (refused.hint ?? "") : "";
    expect(hint).toContain(`tctl nodes rm ${idB}`);
    expect(hint).toMatch(new RegExp(`^ {2}${idA} {2}web-1 {2}192\\.0\\.2\\.1:4000 {2}env=prod$`, "m"));
    expect(hint).toMatch(new RegExp(`^ {2}${idB} {2}web-1 {2}not connected since ${since} {2}env=prod$`, "m"));
    expect(hint).not.toContain(idC);
  });

  test("and is not a connected host: without another, no stream is opened to it", () => {
    expect(find({ candidates: [], recorded: [away(idB)] })).toMatchObject({ code: "not_found" });
  });
});

describe("where a role demands a one-time code", () => {
  const careful: Role = { ...role, spec: { ...role.spec, options: { require_session_mfa: true } } };
  const roles = [careful];
  const confirmed = (name: string) => ({ ...identity, mfa: { device: "otp", kind: "ssh", name, until: "2026-11-22T20:00:00Z" } });
  const facts = { roles, locks: [], login: "root", clientIp: "", now };

  test("a name means the host all the same, which then needs the code", () => {
    expect(find({ roles })).toBe(idA);
    expect(find({ roles, candidates: [here(idA), here(idB)] })).toMatchObject({ code: "conflict" });
    for (const login of ["root", ""])
      expect(() => requireMfa(here(idA), { ...facts, login, identity })).toThrow(expect.objectContaining({ code: "mfa_required" }));
    expect(() => requireMfa(here(idA), { ...facts, identity: confirmed(idA) })).not.toThrow();
  });

  test("a code for one host of a name opens no other", () => {
    expect(find({ roles, candidates: [here(idA), here(idB)], identity: confirmed(idB) })).toBe(idB);
    expect(find({ roles, identity: confirmed(idB) })).toMatchObject({ code: "denied", message: expect.stringContaining(`was for ssh "${idB}"`) });
    expect(() => requireMfa(here(idA), { ...facts, identity: confirmed(idB) })).toThrow(expect.objectContaining({ code: "denied" }));
  });
});
