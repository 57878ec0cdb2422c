import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import { servedKinds, serviceKinds } from "../kinds/service-kinds.ts";
import { type Role, roleSchema } from "../resources/role.ts";
import { type AgentOffer, differenceError, differenceText, differingOffers, entitledOffers } from "./agreed-offers.ts";
import { authorize } from "./authorize.ts";

interface Offer extends AgentOffer {
  readonly isNamed: boolean;
}

function offer(
  id: string,
  labels: Readonly<Record<string, string>>,
  more: { isNamed?: boolean; details?: Readonly<Record<string, string>> } = {},
): Offer {
  return { host: { id, name: `host-${id}` }, offered: { labels, details: more.details }, isNamed: more.isNamed ?? false };
}

const counted = (offers: readonly Offer[]): readonly Offer[] => entitledOffers(offers, ({ isNamed }) => isNamed);

describe("offers of one resource by several agents", () => {
  test.for<readonly [what: string, offers: readonly Offer[], expected: string]>([
    ["none", [], ""],
    ["one", [offer("a", { env: "prod" })], ""],
    ["the same labels in another order", [offer("a", { env: "prod", team: "x" }), offer("b", { team: "x", env: "prod" })], ""],
    ["another value", [offer("a", { env: "prod" }), offer("b", { env: "dev" })], "ab"],
    ["one label more", [offer("a", { env: "prod" }), offer("b", { env: "prod", team: "all" })], "ab"],
    ["no labels", [offer("b", {}), offer("a", { env: "prod" })], "ab"],
    ["the third differs", [offer("c", { env: "dev" }), offer("b", { env: "prod" }), offer("a", { env: "prod" })], "ac"],
    ["health and address are each agent's own", [offer("a", {}, { details: { health: "healthy", uri: "x" } }), offer("b", {}, { details: {} })], ""],
    ["another protocol", [offer("a", {}, { details: { protocol: "mysql" } }), offer("b", {}, { details: { protocol: "postgres" } })], "ab"],
    ["other ports", [offer("a", {}, { details: { tcp_ports: "5432" } }), offer("b", {}, { details: { tcp_ports: "22,5432" } })], "ab"],
    ["a port, and none to choose from", [offer("a", {}, { details: { tcp_ports: "5432" } }), offer("b", {})], "ab"],
    [
      "the same ports in other words",
      [offer("a", {}, { details: { tcp_ports: "22-24,80" } }), offer("b", {}, { details: { tcp_ports: "80,24,22-23" } })],
      "",
    ],
    ["ports that cannot be read", [offer("a", {}, { details: { tcp_ports: "x" } }), offer("b", {}, { details: { tcp_ports: "22" } })], "ab"],
    ["one makes accounts", [offer("a", {}, { details: { admin_user: "x" } }), offer("b", {})], "ab"],
  ])("%s", ([, offers, expected]) => {
    expect(
      differingOffers(offers)
        ?.map(({ host }) => host.id)
        .join("") ?? "",
    ).toBe(expected);
  });

  test("the refusal names both hosts, and no label", () => {
    const pair = differingOffers([offer("b", { env: "secret" }), offer("a", { env: "prod" })]);
    const error = differenceError({ kind: "kube", name: "prod" }, pair ?? [offer("a", {}), offer("b", {})]);
    expect(error).toMatchObject({
      code: "conflict",
      message: 'Kubernetes cluster "prod" is not used while the agents on host-a (a) and host-b (b) assign differing labels to it',
      hint: expect.stringContaining("tctl tokens add --type=kube --resources=kube/prod"),
    });
    const settings = [offer("a", {}, { details: { protocol: "mysql" } }), offer("b", {})] as const;
    expect(differenceText({ kind: "db", name: "orders" }, settings)).toContain("differing settings");
    const ports = [offer("a", {}, { details: { tcp_ports: "22" } }), offer("b", {})] as const;
    expect(differenceText({ kind: "app", name: "pg" }, ports)).toContain("differing tcp_ports to it");
  });

  test("hosts whose token names resources count before all others, while there is one", () => {
    const [named, other] = [offer("a", { env: "prod" }, { isNamed: true }), offer("b", { env: "dev" })];
    expect(counted([other, named])).toEqual([named]);
    expect(counted([other])).toEqual([other]);
    expect(differingOffers(counted([other, named]))).toBeUndefined();
  });
});

const now = new Date("2026-11-20T12:00:00Z");
const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["one", "two"],
  traits: {},
  principals: {},
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

describe("access, whatever another agent claims", () => {
  const value = fc.constantFrom("a", "b", "*");
  const labels = fc.dictionary(fc.constantFrom("env", "team"), fc.constantFrom("a", "b"), { maxKeys: 2 });
  const matchers = fc.dictionary(fc.constantFrom("env", "team", "*"), value, { maxKeys: 2 });
  const offers = fc.array(fc.record({ labels, isNamed: fc.boolean() }), { minLength: 1, maxLength: 4 });

  /** The outcome at each host that a connection may get; undefined: refused. */
  function outcome(kind: (typeof servedKinds)[number], all: readonly Offer[], roles: readonly Role[]): readonly string[] | undefined {
    const chosen = counted(all);
    const allowed = chosen.filter(({ host, offered }) => {
      try {
        const ask = { kind, served: { name: "r", labels: offered.labels }, without: Object.keys(serviceKinds[kind].names), serverId: host.id };
        authorize({ identity, roles, locks: [], ask, now });
        return true;
      } catch {
        return false;
      }
    });
    if (allowed.length === 0 || differingOffers(chosen) !== undefined) return undefined;
    return allowed.map(({ host }) => host.id);
  }

  const lent = { db_users: ["*"], db_names: ["*"], kubernetes_groups: ["viewers"] };
  const rolesOf = (allow: object, deny: object, label: string): readonly Role[] =>
    [
      { name: "one", spec: { allow: { ...lent, [label]: allow } } },
      { name: "two", spec: { deny: Object.keys(deny).length === 0 ? {} : { [label]: deny } } },
    ].map(({ name, spec }) => roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec }));

  test("an agent that comes gives nobody access who had none, in any order; a user who gets in may use each that counts", () => {
    fc.assert(
      fc.property(fc.constantFrom(...servedKinds), offers, matchers, matchers, fc.nat(3), (kind, made, allow, deny, last) => {
        const roles = rolesOf(allow, deny, serviceKinds[kind].labels);
        const all = made.map((one, index) => offer(`${index}`, one.labels, one));
        const before = outcome(kind, all, roles);
        expect(outcome(kind, all.toReversed(), roles)?.toSorted()).toEqual(before?.toSorted());
        if (before === undefined) return;
        expect(before).toHaveLength(counted(all).length);
        // Without any one of several that count, and with each of those passed over, the answer is the same.
        const gone = all[last % all.length];
        const rest = all.filter((one) => one !== gone);
        if (gone === undefined || rest.length === 0) return;
        if (counted(rest).some((one) => !counted(all).includes(one))) return;
        expect(outcome(kind, rest, roles)).toEqual(before.filter((id) => id !== gone.host.id));
      }),
    );
  });

  test("an agent whose token names nothing gets no session for a resource that another one's names, whatever it claims", () => {
    fc.assert(
      fc.property(fc.constantFrom(...servedKinds), labels, fc.array(labels, { maxLength: 4 }), matchers, (kind, own, claims, allow) => {
        const honest = offer("0", own, { isNamed: true });
        const claimed = claims.map((one, index) => offer(`hostile-${index}`, one));
        const roles = rolesOf(allow, {}, serviceKinds[kind].labels);
        const alone = outcome(kind, [honest], roles);
        expect(outcome(kind, [...claimed, honest], roles)).toEqual(alone);
      }),
    );
  });
});
