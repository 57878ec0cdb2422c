import { type Duplex, PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { type Role, roleSchema } from "../../../core/resources/role.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamRequest, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { fakeTunnel } from "../tunnels/testing/fake-tunnel.ts";
import { openServed } from "./open-served.ts";
import { accessOf } from "./testing/access-of.ts";
import { nothingDialled } from "./testing/nothing-dialled.ts";

const [idA, idB, idC] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"];
const now = new Date("2026-11-20T12:00:00Z");
const parameters = { user: "reader", name: "shop", host: "", at: "" };

interface Agent {
  readonly id: string;
  readonly labels?: Labels;
  readonly protocol?: string;
  /** Of the application `pg`. */
  readonly ports?: string;
  /** Default: it opens a channel. */
  readonly open?: () => Promise<Duplex>;
  readonly health?: string;
}

interface Facts {
  readonly agents?: readonly Agent[];
  readonly allow?: object;
  readonly deny?: object;
  readonly locks?: readonly Lock[];
  readonly parameters?: Partial<typeof parameters>;
  readonly target?: string;
  readonly preferred?: string;
  readonly identity?: Partial<UserIdentity>;
  readonly clientAddress?: string;
  /** Asks for application `pg` with this target port, in place of the database; empty: with none. */
  readonly port?: string;
}

function roleOf(allow: object, deny: object): Role {
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "access" }, spec: { allow, deny } });
}

/** Opens a stream by the real decision; the agents are tunnels of the test. */
async function open({ agents = [{ id: idA }], allow, deny = {}, locks = [], ...facts }: Facts = {}) {
  const opened: string[] = [];
  const added: unknown[] = [];
  const usual = { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["shop"] };
  const registry = new TunnelRegistry<RoutedTunnel>();
  for (const { id, labels = { env: "test" }, protocol = "postgres", health = "healthy", ports, open: own } of agents) {
    const openStream = async (): Promise<Duplex> => {
      opened.push(id);
      return own === undefined ? new PassThrough() : await own();
    };
    const tunnel = fakeTunnel({ id, hostname: `host-${id.slice(0, 1)}`, openStream });
    registry.add(tunnel);
    const pg = { kind: "app", name: "pg", labels, details: { scheme: "tcp", ...(ports !== undefined && { tcp_ports: ports }) } };
    registry.offer(tunnel, [{ kind: "db", name: "orders", labels, details: { protocol, health } }, pg]);
  }
  const services = {
    log: silentLog,
    access: { forUser: async () => accessOf({ revision: "7", roles: [roleOf(allow ?? usual, deny)], locks }) },
    registry,
    hosts: { offering: () => [], begun: async () => {} },
    expected: new ExpectedHosts(),
    identity: nothingDialled,
    running: { add: (stream: unknown) => added.push(stream), count: () => 0, extend: () => () => {} },
    limited: { add: async () => {} },
    now: () => now,
  };
  const identity: UserIdentity = {
    kind: "user",
    name: "alice",
    roles: ["access"],
    traits: {},
    principals: {},
    cluster: "c",
    validBefore: new Date("2026-11-20T13:00:00Z"),
    ...facts.identity,
  };
  const request = { kind: "db", target: facts.target ?? "orders", parameters: { ...parameters, ...facts.parameters } } as const;
  const ask =
    facts.port === undefined ? request : ({ kind: "app", target: "pg", parameters: facts.port === "" ? {} : { port: facts.port } } as const);
  const { preferred, clientAddress = "192.0.2.7:40000" } = facts;
  const outcome = openServed({ identity, request: ask, preferred, clientAddress }, services);
  outcome.catch(() => {});
  return { outcome, opened, added };
}

describe("a stream to an application of several ports, at the proxy", () => {
  const allow = { app_labels: { env: "test" } };
  const agents = [{ id: idA, ports: "5432,6000-6010" }];

  test.for<readonly [what: string, facts: Facts, expected: readonly string[] | string]>([
    ["one of its ports", { port: "6010" }, [idA]],
    ["one of its ports, of which one agent lists others", { port: "6010", agents: [...agents, { id: idB, ports: "5432,6010" }] }, "conflict"],
    ["no port, where it has a single one", { port: "", agents: [{ id: idB, ports: "7000" }] }, [idB]],
    ["a port that it does not have", { port: "22" }, "denied"],
    ["no port, where it has several", { port: "" }, "invalid"],
    ["a port, of agents that list none", { port: "5432", agents: [{ id: idA }] }, "invalid"],
    ["a port, for a user who may not reach the application", { port: "5432", allow: { app_labels: { env: "prod" } } }, "denied"],
  ])("%s", async ([, facts, expected]) => {
    const { outcome, opened } = await open({ agents, allow, ...facts });
    if (typeof expected === "string") await expect(outcome).rejects.toMatchObject({ code: expected });
    else expect(await outcome).toBeInstanceOf(PassThrough);
    expect(opened).toEqual(typeof expected === "string" ? [] : expected);
  });

  test("a user whom no labels allow hears of no port", async () => {
    const { outcome } = await open({ agents, allow: { app_labels: { env: "prod" } }, port: "22" });
    await expect(outcome).rejects.toMatchObject({ message: expect.not.stringMatching(/5432|port/) });
  });
});

const away = (): Promise<never> => Promise.reject(new PlatformError("unavailable", "the agent does not answer"));

describe("a stream to a database, at the proxy", () => {
  test("the agent gets the request with what the proxy knows: address, session and revision", async () => {
    const { outcome, added } = await open();
    const body = await readFrame(await outcome, { maxLength: maxStreamMessage, timeoutMs: 5_000, what: "request" });
    expect(decodeStreamRequest(body)).toEqual({
      kind: "db",
      target: "orders",
      parameters,
      clientAddress: "192.0.2.7:40000",
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      accessRevision: "7",
    });
    expect(added).toMatchObject([{ host: idA, login: "" }]);
  });

  test.for<readonly [what: string, facts: Facts, expected: string | RegExp]>([
    ["names that the request states and a role lists", {}, "allowed"],
    ["no names yet: the agent decides them", { parameters: { user: "", name: "" } }, "allowed"],
    ["an account that no role lists", { parameters: { user: "root" } }, /may not connect as root/],
    ["a logical database that no role lists", { parameters: { name: "payroll" } }, /may not use database payroll/],
    ["a schema of MySQL, where roles cannot bind it", { agents: [{ id: idA, protocol: "mysql" }], parameters: { name: "payroll" } }, "allowed"],
    ["an account of MySQL that no role lists", { agents: [{ id: idA, protocol: "mysql" }], parameters: { user: "root" } }, /may not connect as root/],
    ["a logical database without an account", { parameters: { user: "", name: "payroll" } }, /may not use database payroll/],
    [
      "an account that a role denies",
      { allow: { db_labels: { "*": "*" }, db_users: ["*"], db_names: ["*"] }, deny: { db_users: ["reader"] } },
      /denies it/,
    ],
    ["other labels", { agents: [{ id: idA, labels: { env: "prod" } }] }, /role access does not allow its labels/],
    ["a role that names no labels", { allow: { db_users: ["*"], db_names: ["*"] } }, /role access does not allow its labels/],
    ["a certificate for another database", { identity: { route: { kind: "db", name: "billing" } } }, /is only for db "billing"/],
    ["a certificate for this one", { identity: { route: { kind: "db", name: "orders" } } }, "allowed"],
    ["an expired certificate", { identity: { validBefore: now } }, /expired/],
    ["a certificate for another address", { identity: { sourceIp: "192.0.2.8" } }, /bound to the address/],
    ["its own address", { identity: { sourceIp: "192.0.2.7" } }, "allowed"],
    ["a locked user", { locks: [lockOf({ user: "alice" })] }, /locked/],
    ["a locked host", { locks: [lockOf({ server_id: idA })] }, /locked/],
    ["a database that nobody offers", { target: "payroll" }, /no connected agent offers database "payroll"/],
    ["a host that does not offer it", { parameters: { host: idB } }, /no connected agent offers database "orders"/],
    ["the host that does", { parameters: { host: idA } }, "allowed"],
  ])("%s: %s", async ([, facts, expected]) => {
    const { outcome, opened } = await open(facts);
    if (expected === "allowed") return void expect(await outcome).toBeInstanceOf(PassThrough);
    await expect(outcome).rejects.toThrow(expected);
    expect(opened).toEqual([]);
  });

  test("agents that assign differing labels are used by nobody, and both are named; a user whom no labels allow hears of neither", async () => {
    const agents = [{ id: idB, labels: { env: "prod" } }, { id: idA }];
    const refusal = { code: "conflict", message: expect.stringMatching(/database "orders" .*host-1 \(1111.*host-2 \(2222.* differing labels/) };
    for (const facts of [
      { agents },
      { agents: agents.toReversed() },
      { agents, parameters: { host: idA } },
      { agents, parameters: { host: idA }, allow: { db_labels: { "*": "*" }, db_users: ["*"], db_names: ["*"] } },
    ]) {
      const { outcome, opened } = await open(facts);
      await expect(outcome).rejects.toMatchObject(refusal);
      expect(opened).toEqual([]);
    }
    const other = await open({
      agents: [...agents, { id: idC, labels: { env: "dev" } }],
      allow: { db_labels: { env: "none" }, db_users: ["reader"] },
    });
    await expect(other.outcome).rejects.toMatchObject({ code: "denied", message: expect.not.stringContaining("host-") });
    const pinned = await open({ agents, parameters: { host: idB } });
    await expect(pinned.outcome).rejects.toMatchObject({ code: "denied" });
  });

  test("a locked agent is left out", async () => {
    const locked = await open({ agents: [{ id: idA }, { id: idB }], locks: [lockOf({ server_id: idA })] });
    await locked.outcome;
    expect(locked.opened).toEqual([idB]);
  });

  test("a pinned host is the only one that is tried", async () => {
    const { outcome, opened } = await open({ agents: [{ id: idA, open: away }, { id: idB }], parameters: { host: idA } });
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
    expect(opened).toEqual([idA]);
  });

  test("without a pin the next agent is tried; with none left, the first failure is reported", async () => {
    const one = await open({ agents: [{ id: idA, open: away }, { id: idB }] });
    await one.outcome;
    expect(one.opened.at(-1)).toBe(idB);
    const both = await open({
      agents: [
        { id: idA, open: away },
        { id: idB, open: away },
      ],
    });
    await expect(both.outcome).rejects.toMatchObject({ code: "unavailable" });
    expect(both.opened.toSorted()).toEqual([idA, idB]);
    expect(both.added).toEqual([]);
  });

  test("the preferred agent is the first that is tried, unless it alone does not reach the database; then the next one is", async () => {
    const firstOf = async (...agents: readonly Agent[]): Promise<string | undefined> => {
      const { outcome, opened } = await open({ agents, preferred: idB });
      await outcome;
      return opened[0];
    };
    for (let round = 0; round < 20; round += 1) expect(await firstOf({ id: idA }, { id: idB }, { id: idC })).toBe(idB);
    expect(await firstOf({ id: idA }, { id: idB, health: "unknown" })).toBe(idB);
    for (let round = 0; round < 20; round += 1) expect(await firstOf({ id: idA }, { id: idB, health: "unhealthy" })).toBe(idA);
    expect(await firstOf({ id: idA })).toBe(idA);
    const { outcome, opened } = await open({ agents: [{ id: idA }, { id: idB, open: away }], preferred: idB });
    await outcome;
    expect(opened).toEqual([idB, idA]);
  });

  test("the agents share the streams", async () => {
    const used = new Set<string | undefined>();
    for (let round = 0; round < 200 && used.size < 2; round += 1) {
      const { outcome, opened } = await open({ agents: [{ id: idA }, { id: idB }] });
      await outcome;
      used.add(opened[0]);
    }
    expect(used).toEqual(new Set([idA, idB]));
  });
});

function lockOf(target: Lock["spec"]["target"]): Lock {
  return { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target } };
}
