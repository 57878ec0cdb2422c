import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { forwardedClient } from "./forwarded-client.ts";
import { IpSet } from "./ip-prefix.ts";

const trusted = new IpSet(["10.0.0.0/24", "2001:db8:b::/48"]);
const balancer = "10.0.0.5";

test.for<readonly [what: string, header: string | undefined, client: string | undefined]>([
  ["the client that a balancer appended", "192.0.2.7", "192.0.2.7"],
  ["not what the client wrote before it", "203.0.113.1, 127.0.0.1, 192.0.2.7", "192.0.2.7"],
  ["behind two balancers", "203.0.113.1, 192.0.2.7, 10.0.0.9", "192.0.2.7"],
  ["through IPv6", "192.0.2.7, 2001:db8:b::1", "192.0.2.7"],
  ["with a port", "192.0.2.7:40000", "192.0.2.7"],
  ["IPv6", "2001:db8::7", "2001:db8::7"],
  ["IPv6 in brackets", "[2001:db8::7]", "2001:db8::7"],
  ["IPv6 with a port", "[2001:db8::7]:40000", "2001:db8::7"],
  ["IPv4 in IPv6", "::ffff:192.0.2.7", "192.0.2.7"],
  ["IPv4 in IPv6, in hexadecimal", "[::ffff:c000:207]:40000", "192.0.2.7"],
  ["IPv6 in its shortest form", "2001:DB8:0:0:0:0:0:7", "2001:db8::7"],
  ["a balancer's own request", "10.0.0.7", "10.0.0.7"],
  ["without spaces", "203.0.113.1,192.0.2.7", "192.0.2.7"],
  ["nobody without the header", undefined, undefined],
  ["nobody for an empty one", "", undefined],
  ["nobody for a name", "192.0.2.7, unknown", undefined],
  ["nobody for a zone", "fe80::1%eth0", undefined],
  ["the balancer before one that cannot be read", "192.0.2.7, _hidden, 10.0.0.9", "10.0.0.9"],
])("%s", ([, header, client]) => {
  expect(forwardedClient(header, balancer, trusted)).toBe(client);
});

test("nobody but a trusted balancer is believed", () => {
  for (const peer of ["192.0.2.1", "10.0.1.5", "127.0.0.1", "", "unknown"]) expect(forwardedClient("203.0.113.1", peer, trusted)).toBeUndefined();
  expect(forwardedClient("203.0.113.1", "::ffff:10.0.0.5", trusted)).toBe("203.0.113.1");
});

test("whatever a client writes, the last address is the one that the balancer appended", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.ipV4(), (written, client) => {
      fc.pre(!trusted.has(client));
      expect(forwardedClient(`${written}, ${client}`, balancer, trusted)).toBe(client);
      const found = forwardedClient(written, balancer, trusted);
      expect(found === undefined || isIP(found) > 0).toBe(true);
    }),
  );
});
