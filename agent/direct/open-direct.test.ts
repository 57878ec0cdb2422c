import { expect, test } from "vitest";
import { ownAddresses } from "./open-direct.ts";

const port = 3022;
const everywhere = { host: "0.0.0.0", port };
const web = { host: "web.test", port: 22 };

test.each([
  { what: "where it listens", way: {}, bound: { host: "10.0.0.5", port }, local: "10.9.9.9", is: ["10.0.0.5:3022"] },
  { what: "on every address: that of the way to the auth service", way: {}, bound: everywhere, local: "10.0.0.5", is: ["10.0.0.5:3022"] },
  { what: "IPv4 inside IPv6", way: {}, bound: { host: "::", port }, local: "::ffff:10.0.0.5", is: ["10.0.0.5:3022"] },
  { what: "IPv6", way: {}, bound: { host: "::", port }, local: "2001:db8::1", is: ["[2001:db8::1]:3022"] },
  {
    what: "advertise_ip before all",
    way: { advertiseIp: "192.0.2.1" },
    bound: { host: "10.0.0.5", port },
    local: "10.0.0.5",
    is: ["192.0.2.1:3022"],
  },
  {
    what: "public addresses behind its own",
    way: { publicAddresses: [web, web] },
    bound: everywhere,
    local: "10.0.0.5",
    is: ["10.0.0.5:3022", "web.test:22"],
  },
  { what: "public addresses alone", way: { publicAddresses: [web] }, bound: everywhere, local: undefined, is: ["web.test:22"] },
  {
    what: "a public address without a port: by the port that was bound",
    way: { publicAddresses: [{ host: "web.test", port: 0 }] },
    bound: { host: "0.0.0.0", port: 22 },
    local: undefined,
    is: ["web.test:22"],
  },
])("$what", ({ way, bound, local, is }) => {
  const given = { publicAddresses: [], ...way };
  const { addresses, shared } = ownAddresses(given, bound, local);
  expect(addresses).toEqual(is);
  expect(shared).toEqual(given.publicAddresses.length > 0 ? ["web.test:22"] : []);
});

test("no more are announced than the auth service accepts", () => {
  const publicAddresses = Array.from({ length: 20 }, (_, n) => ({ host: `a${n}.test`, port }));
  const { addresses, shared } = ownAddresses({ publicAddresses }, everywhere, "10.0.0.5");
  expect(addresses).toHaveLength(8);
  expect(shared.every((one) => addresses.includes(one))).toBe(true);
});
