import { expect, test } from "vitest";
import { checkHostNames, type HostNamesAsk } from "./host-names.ts";

const others = { proxies: new Set(["proxy.example.com", "bastion"]), nodes: new Set(["web-1", "web-1.example.com"]) };
const ask = (more: Partial<HostNamesAsk>): HostNamesAsk => ({ role: "node", hostname: "web-2", names: [], cluster: "example.com", others, ...more });

test.for([
  ["a proxy's public name below the cluster's", { role: "proxy", hostname: "vm-17", names: ["proxy.example.com", "localhost", "127.0.0.1"] }],
  ["a proxy and a node of one host", { role: "proxy", hostname: "web-1", names: ["web-1.example.com"] }],
  ["two nodes of one host name", { hostname: "web-1" }],
  ["a node's host name below the cluster's", { hostname: "db.example.com" }],
  ["a node's address", { names: ["203.0.113.7", "web.example.org"] }],
] as const)("%s is allowed", ([, more]) => {
  const wanted = ask(more);
  expect(checkHostNames(wanted)).toEqual([wanted.hostname, ...wanted.names]);
});

const id = "8e7a0f4e-7f6c-4f5e-9d6c-5d8a3a3b1c2d";
test.for([
  ["a node below the cluster's name", { names: ["db.example.com"] }, "invalid"],
  ["another host's id", { role: "proxy", names: [id] }, "invalid"],
  ["another host's id in the cluster", { role: "proxy", names: [`${id}.example.com`] }, "invalid"],
  ["a role's name", { role: "proxy", names: ["auth.Platform.internal"] }, "invalid"],
  ["a proxy with a node's name", { role: "proxy", names: ["WEB-1"] }, "denied"],
  ["a proxy with a node's name in the cluster", { role: "proxy", names: ["web-1.example.com"] }, "denied"],
  ["a node called like a proxy", { hostname: "Proxy.example.com" }, "denied"],
  ["a node that asks for a proxy's name", { names: ["bastion"] }, "denied"],
  ["a node that asks for another's host name", { names: ["web-1"] }, "denied"],
  ["a node called localhost", { hostname: "localhost" }, "denied"],
  ["a node that asks for a loopback address", { names: ["127.0.0.1"] }, "denied"],
  ["what is no name", { names: ["a b"] }, "invalid"],
  ["too many names", { names: Array.from({ length: 40 }, (_one, index) => `n${index}`) }, "invalid"],
] as const)("%s is refused", ([, more, code]) => {
  expect(() => checkHostNames(ask(more))).toThrow(expect.objectContaining({ code }));
});
