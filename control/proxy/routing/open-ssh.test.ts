import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { roleOf } from "../../../core/access/testing/role-of.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { Node } from "../../../core/resources/node.ts";
import { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import { type RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import type { DirectTarget } from "./find-target.ts";
import { findOpenssh, openSsh, requireEveryLogin, sharedAddress } from "./open-ssh.ts";
import { accessOf } from "./testing/access-of.ts";
import { nothingDialled } from "./testing/nothing-dialled.ts";

const host = (id: string, hostname: string, ...shared: string[]): DirectTarget => {
  const own = `${hostname}.internal:3022`;
  return { via: "dial", identity: { id }, facts: { hostname, labels: {} }, addresses: [own, ...shared], shared, peer: own };
};

const [one, two] = [host("id-1", "web-1", "web.test:3022", "all.test:3022"), host("id-2", "web-2", "all.test:3022", "web.test:3022")];

test.each([
  { what: "hosts that announce the same address under the name", hosts: [one, two], target: "web.test", is: "web.test:3022" },
  { what: "the name in capitals", hosts: [one, two], target: "WEB.test", is: "web.test:3022" },
  { what: "the name with the cluster behind it", hosts: [one, two], target: "all.test.main", is: "all.test:3022" },
  { what: "one host: it is meant itself", hosts: [one], target: "web.test", is: undefined },
  {
    what: "one that has the name and announces another port",
    hosts: [one, two, host("id-3", "evil", "web.test:9")],
    target: "web.test",
    is: undefined,
  },
  { what: "one that has the name and announces nothing", hosts: [one, host("id-3", "evil")], target: "web.test", is: undefined },
  { what: "one whose host name it is", hosts: [one, host("id-3", "web.test", "web.test:3022")], target: "web.test", is: undefined },
  { what: "a host name that two have", hosts: [one, host("id-3", "web-1", "web.test:3022")], target: "web-1", is: undefined },
  { what: "no host at all", hosts: [], target: "web.test", is: undefined },
])("$what", ({ hosts, target, is }) => {
  expect(sharedAddress(hosts, target, "main")).toBe(is);
});

const now = new Date("2026-11-21T12:00:00Z");
const node = (name: string, hostname: string, addr?: string): Node => ({
  kind: "node",
  sub_kind: "openssh",
  version: "v2",
  metadata: { name, labels: { env: "test" } },
  spec: { hostname, services: ["ssh"], version: "", ...(addr !== undefined && { addr }) },
});
const nodes = [node("id-1", "legacy-1", "10.0.0.1:22"), node("id-2", "Legacy-2", "10.0.0.2:22"), node("id-3", "nowhere")];

test.for([
  ["legacy-1", ["10.0.0.1:22"]],
  ["LEGACY-1.Example", ["10.0.0.1:22"]],
  ["legacy-2", ["10.0.0.2:22"]],
  ["id-2", ["10.0.0.2:22"]],
  ["id-2.example", ["10.0.0.2:22"]],
  ["nowhere", []],
  ["legacy-1.other", []],
  ["legacy", []],
  ["", []],
] as const)("%s means the hosts at %j", ([target, addresses]) => {
  expect(findOpenssh(nodes, target, "example").map(({ peer }) => peer)).toEqual(addresses);
});

const identity = (...logins: string[]): UserIdentity => ({
  kind: "user",
  name: "alice",
  roles: ["a", "b"],
  traits: {},
  principals: { ssh: { login: logins } },
  cluster: "example",
  validBefore: new Date("2026-11-21T20:00:00Z"),
});

test.for([
  ["every login is allowed there", ["root", "web"], ["allow root,web on env=test", ""], undefined],
  [
    "one login is allowed elsewhere only",
    ["root", "web"],
    ["allow root on env=test", "allow web on env=prod"],
    /legacy-1 has no agent that could refuse this login/,
  ],
  ["one login is denied", ["root", "web"], ["allow root,web on env=test", "deny web"], /legacy-1 has no agent that could refuse this login/],
  ["no login at all", [], ["allow root on env=test", ""], undefined],
] as const)("a host without an agent, where %s", ([, logins, lines, refusal]) => {
  const [target] = findOpenssh(nodes, "legacy-1", "example");
  if (target === undefined) throw new Error("not found");
  const roles = [roleOf(lines[0], "a"), roleOf(lines[1], "b")];
  const asked = (): void => requireEveryLogin(target, { identity: identity(...logins), roles, locks: [], clientIp: "192.0.2.1", now });
  if (refusal === undefined) expect(asked).not.toThrow();
  else expect(asked).toThrow(refusal);
});

// A recording proxy waits for the auth service and for the user's login before anybody reads the connection.
test("a host without an agent that resets its connection ends that alone", async () => {
  const server = createServer();
  const accepted = once(server, "connection") as Promise<[Socket]>;
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const openssh = [node("id-1", "legacy-1", `127.0.0.1:${port}`)];
  const services = {
    log: silentLog,
    access: { forUser: async () => accessOf({ roles: [roleOf("allow root on env=test", "a")], openssh }) },
    registry: new TunnelRegistry<RoutedTunnel>(),
    hosts: { find: async () => ({ reachable: [], recorded: [] }) },
    expected: new ExpectedHosts(),
    arriving: new ExpectedHosts(),
    identity: nothingDialled,
    running: { add: () => {}, count: () => 0, extend: () => () => {} },
    limited: { add: async () => {} },
    audit: { emit: () => {} },
    between: async (channel: Duplex) => {
      const [far] = await accepted;
      const closed = new Promise((resolve) => channel.resume().once("close", resolve));
      far.resetAndDestroy();
      await closed;
      return channel;
    },
    cluster: "example",
    now: () => now,
  };
  const request = { kind: "ssh", target: "legacy-1", parameters: { login: "root" } } as const;
  const channel = await openSsh({ identity: identity("root"), request, clientAddress: "192.0.2.1:1" }, services, { host: undefined });
  expect(channel.destroyed).toBe(true);
  server.close();
});
