import { expect, test } from "vitest";
import { sharedAddress } from "./shared-address.ts";
import type { DirectTarget } from "./target.ts";

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
