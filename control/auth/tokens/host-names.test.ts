import fc from "fast-check";
import { expect, test } from "vitest";
import { certificateNames, namesMeant } from "../../../core/identity/cluster-names.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { checkHostNames, type HostNamesAsk, judgeHostNames } from "./host-names.ts";

const others = {
  services: new Set(["proxy", "bastion", "example.com", "auth.other.test"]),
  proxies: new Set(["control", "vm-17"]),
  nodes: new Set(["web-1", "vm-17", "db.corp.test"]),
  more: new Map([
    ["www.example.org", ["web-1"]],
    ["intranet", ["web-1"]],
  ]),
};
const ask = (more: Partial<HostNamesAsk>): HostNamesAsk => ({ role: "node", hostname: "web-2", names: [], cluster: "example.com", others, ...more });

test.for([
  ["a proxy's public name below the cluster's", { role: "proxy", hostname: "vm-18", names: ["mail.example.com", "localhost", "127.0.0.1"] }],
  ["a proxy and a node of one host", { role: "proxy", hostname: "web-1", names: ["web-1.example.com"] }],
  ["two nodes of one host name, when they join", { hostname: "web-1" }],
  [
    "a machine that was installed again, with all it had",
    { hostname: "web-1", names: ["web-1.example.com", "www.example.org", "intranet.example.com"] },
  ],
  ["one node with the host name of a proxy", { hostname: "control" }],
  ["a node's address", { names: ["203.0.113.7", "web.example.org", "2001:db8::7"] }],
  ["a node's own name with the cluster's behind it", { names: ["web-2.example.com"] }],
  ["a free name below the cluster's", { names: ["shop.example.com"] }],
  ["a node that keeps the name that another has too", { hostname: "web-1", held: "web-1" }],
] as const)("%s is allowed", ([, more]) => {
  const wanted = ask(more);
  expect(checkHostNames(wanted)).toEqual([wanted.hostname, ...wanted.names]);
});

test.for([
  ["db.example.com", "db"],
  ["DB.Example.com", "DB"],
  ["db.example.com.example.com", "db"],
  ["db.rack.example.com", "db.rack"],
] as const)("a node that calls itself %s is called %s", ([hostname, stored]) => {
  expect(checkHostNames(ask({ hostname }))).toEqual([stored]);
  expect(checkHostNames(ask({ hostname, role: "proxy" }))).toEqual([hostname]);
});

const id = "8e7a0f4e-7f6c-4f5e-9d6c-5d8a3a3b1c2d";
const refusals: readonly (readonly [string, Partial<HostNamesAsk>, string])[] = [
  ["another host's id", { role: "proxy", names: [id] }, "invalid"],
  ["another host's id in the cluster", { role: "proxy", names: [`${id}.example.com`] }, "invalid"],
  ["a role's name", { role: "proxy", names: ["auth.Platform.internal"] }, "invalid"],
  ["a role's name with a dot behind it", { names: ["auth.platform.internal."] }, "invalid"],
  ["the zone of the roles' names", { names: ["platform.internal"] }, "invalid"],
  ["a role's name by way of the cluster's", { cluster: "internal", hostname: "auth.platform" }, "invalid"],
  ["the same with a proxy", { cluster: "internal", role: "proxy", names: ["node.platform"] }, "invalid"],
  ["a proxy with a node's name", { role: "proxy", names: ["WEB-1"] }, "denied"],
  ["a proxy with a node's name in the cluster", { role: "proxy", names: ["web-1.example.com"] }, "denied"],
  ["a node called like a proxy", { hostname: "Proxy.example.com" }, "denied"],
  ["a node whose long name is a proxy's", { hostname: "proxy" }, "denied"],
  ["a node that asks for a proxy's name", { names: ["bastion"] }, "denied"],
  ["a node that asks for the host name of a proxy", { names: ["control.example.com"] }, "denied"],
  ["a second node with the host name of a proxy", { hostname: "vm-17" }, "denied"],
  ["a node called like the cluster", { hostname: "example.com" }, "denied"],
  ["a node that asks for another's host name", { names: ["web-1"] }, "denied"],
  ["the same in other letters, with the cluster's name and a dot", { names: ["WEB-1.Example.COM."] }, "denied"],
  ["the same with the cluster's name twice", { names: ["web-1.example.com.example.com"] }, "denied"],
  ["a node that asks for another's public name", { names: ["www.example.org"] }, "denied"],
  ["a node called like another's public name", { hostname: "intranet.example.com" }, "denied"],
  ["a node that renames itself to another's name", { hostname: "web-1", held: "harmless" }, "denied"],
  ["the same with the cluster's name behind it", { hostname: "web-1.example.com", held: "harmless" }, "denied"],
  ["a node that has such a name from before", { hostname: "web-1.example.com", held: "web-1.example.com" }, "denied"],
  ["a node that renames itself to a proxy's host name", { hostname: "control", held: "harmless" }, "denied"],
  ["a node called localhost", { hostname: "localhost" }, "denied"],
  ["a node called localhost in the cluster", { hostname: "localhost.example.com" }, "denied"],
  ["a node that asks for a loopback address", { names: ["127.0.0.1"] }, "denied"],
  ["another one", { names: ["0:0:0:0:0:0:0:1"] }, "denied"],
  ["one of IPv4 in IPv6", { names: ["::ffff:127.0.0.1"] }, "denied"],
  ["the address of any", { names: ["0.0.0.0"] }, "denied"],
  ["a malformed name", { names: ["a b"] }, "invalid"],
  ["letters outside of ASCII", { names: ["wéb-1"] }, "invalid"],
  ["too many names", { names: Array.from({ length: 40 }, (_one, index) => `n${index}`) }, "invalid"],
];
test.for(refusals)("%s is refused", ([, more, code]) => {
  expect(() => checkHostNames(ask(more))).toThrow(expect.objectContaining({ code }));
});

test("who renews keeps the host name that it has, and gets all names but those that are refused", () => {
  const judged = judgeHostNames(ask({ hostname: "web-1", names: ["web-1.example.com", "www.example.org", "shop.example.com"], held: "harmless" }));
  expect(judged.names).toEqual(["harmless", "shop.example.com"]);
  expect(judged.refused.map(({ message }) => message)).toEqual([
    '"web-1" is the name of a node: a node cannot have it',
    '"web-1.example.com" is the name of a node: a node cannot have it',
    '"www.example.org" is the name of a node: a node cannot have it',
  ]);
  // Got before such names were refused: what is left is its id.
  expect(judgeHostNames(ask({ hostname: "web-1.example.com", held: "web-1.example.com" })).names).toEqual([]);
});

const word = fc.constantFrom("web-1", "WEB-1", "db", "example.com", "internal", "platform", "auth", "proxy", "www.example.org", "control");
const name = fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.constantFrom("", ".")).map(([words, dot]) => words.join(".") + dot);
const clusters = fc.constantFrom("example.com", "internal", "platform.internal", "com", "db");

test("nobody who renews or asks for more gets a certificate for what means another host, a proxy or a service", () => {
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 3 }), clusters, (hostname, names, cluster) => {
      const judged = judgeHostNames(ask({ hostname, names, cluster, held: "harmless", others: { ...others, services: new Set(["proxy"]) } }));
      for (const certified of certificateNames({ id, names: judged.names, cluster })) {
        expect(certified.toLowerCase()).not.toMatch(/(^|\.)platform\.internal\.?$/);
        for (const meant of namesMeant(certified, cluster)) expect(["web-1", "proxy", "control", "www.example.org"]).not.toContain(meant);
      }
    }),
    { numRuns: someRuns(2_000) },
  );
});
