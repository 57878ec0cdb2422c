import { domainToASCII } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHostPort } from "../host-port.ts";
import { matchNoProxy } from "./choose-proxy.ts";

/** [NO_PROXY, target, the entry that excludes it or undefined for proxied]. */
const cases: readonly (readonly [list: string, target: string, entry: string | undefined])[] = [
  // Nothing
  ["", "example.com:443", undefined],
  [" , ,, ", "example.com:443", undefined],
  // Everything
  ["*", "example.com:443", "*"],
  ["*", "10.1.2.3:443", "*"],
  ["*", "[fd00::1]:443", "*"],
  ["foo,*", "example.com:443", "*"],
  ["*:3024", "example.com:3024", "*:3024"],
  ["*:3024", "example.com:3080", undefined],
  // Names
  ["example.com", "example.com:443", "example.com"],
  ["example.com", "a.example.com:443", "example.com"],
  ["example.com", "a.b.example.com:443", "example.com"],
  ["example.com", "notexample.com:443", undefined],
  ["example.com", "example.com.evil.net:443", undefined],
  ["example.com", "com:443", undefined],
  ["example.com", "example.org:443", undefined],
  ["EXAMPLE.com", "Example.COM:443", "EXAMPLE.com"],
  ["example.com.", "example.com:443", "example.com."],
  ["example.com", "example.com.:443", "example.com"],
  ["intranet", "intranet:443", "intranet"],
  ["under_score.test", "under_score.test:443", "under_score.test"],
  ["kube.platform.cluster.local", "kube.platform.cluster.local:443", "kube.platform.cluster.local"],
  // Suffixes
  [".example.com", "a.example.com:443", ".example.com"],
  [".example.com", "example.com:443", undefined],
  [".example.com", "notexample.com:443", undefined],
  ["*.example.com", "a.example.com:443", "*.example.com"],
  ["*.example.com", "a.b.example.com:443", "*.example.com"],
  ["*.example.com", "example.com:443", undefined],
  [".example.com.", "a.example.com:443", ".example.com."],
  [".example.com:3024", "a.example.com:3024", ".example.com:3024"],
  [".example.com:3024", "a.example.com:3080", undefined],
  ["*.example.com:3024", "a.example.com:3024", "*.example.com:3024"],
  // Names with ports
  ["example.com:3024", "example.com:3024", "example.com:3024"],
  ["example.com:3024", "example.com:3080", undefined],
  ["example.com:3024", "a.example.com:3024", "example.com:3024"],
  ["EXAMPLE.com.:3024", "example.com:3024", "EXAMPLE.com.:3024"],
  // Ports alone
  [":3024", "example.com:3024", ":3024"],
  [":3024", "10.1.2.3:3024", ":3024"],
  [":3024", "[fd00::1]:3024", ":3024"],
  [":3024", "example.com:443", undefined],
  ["3024", "example.com:3024", "3024"],
  ["3024", "0.0.11.208:443", undefined],
  ["3024", "example.com:3080", undefined],
  // Names in Unicode
  ["bücher.example", "xn--bcher-kva.example:443", "bücher.example"],
  ["BÜCHER.example", "a.xn--bcher-kva.example:443", "BÜCHER.example"],
  [".bücher.example", "a.xn--bcher-kva.example:443", ".bücher.example"],
  ["*.bücher.example:3024", "a.xn--bcher-kva.example:3024", "*.bücher.example:3024"],
  [".bücher.example", "xn--bcher-kva.example:443", undefined],
  ["xn--bcher-kva.example", "xn--bcher-kva.example:443", "xn--bcher-kva.example"],
  // IPv4 addresses
  ["10.1.2.3", "10.1.2.3:443", "10.1.2.3"],
  ["10.1.2.3", "10.1.2.4:443", undefined],
  ["10.1.2.3", "110.1.2.3:443", undefined],
  ["10.1.2.3", "x.10.1.2.3:443", undefined],
  ["10.1.2.3:3024", "10.1.2.3:3024", "10.1.2.3:3024"],
  ["10.1.2.3:3024", "10.1.2.3:443", undefined],
  ["10.1.2.3", "10.66051:443", "10.1.2.3"],
  // IPv4 networks
  ["10.0.0.0/8", "10.1.2.3:443", "10.0.0.0/8"],
  ["10.0.0.0/8", "10.255.255.255:3024", "10.0.0.0/8"],
  ["10.0.0.0/8", "11.0.0.0:443", undefined],
  ["10.1.2.3/8", "10.9.9.9:443", "10.1.2.3/8"],
  ["172.16.0.0/12", "172.31.255.255:443", "172.16.0.0/12"],
  ["172.16.0.0/12", "172.32.0.0:443", undefined],
  ["192.168.0.0/16", "192.168.7.7:443", "192.168.0.0/16"],
  ["10.1.2.3/32", "10.1.2.3:443", "10.1.2.3/32"],
  ["10.1.2.3/32", "10.1.2.4:443", undefined],
  ["0.0.0.0/0", "8.8.8.8:443", "0.0.0.0/0"],
  ["0.0.0.0/0", "example.com:443", undefined],
  ["0.0.0.0/0", "[fd00::1]:443", undefined],
  ["10.0.0.0/8", "name-in-ten.test:443", undefined],
  // IPv6
  ["fd00::1", "[fd00::1]:443", "fd00::1"],
  ["fd00::1", "[FD00:0:0:0:0:0:0:1]:443", "fd00::1"],
  ["FD00:0::1", "[fd00::1]:443", "FD00:0::1"],
  ["[fd00::1]", "[fd00::1]:443", "[fd00::1]"],
  ["[fd00::1]:3024", "[fd00::1]:3024", "[fd00::1]:3024"],
  ["[fd00::1]:3024", "[fd00::1]:443", undefined],
  ["fd00::/8", "[fd00::1]:443", "fd00::/8"],
  ["[fd00::]/8", "[fd12::1]:443", "[fd00::]/8"],
  ["fd00::/8", "[fe80::1]:443", undefined],
  ["fe80::1", "[fe80::1%eth0]:443", "fe80::1"],
  ["::/0", "[fd00::1]:443", "::/0"],
  ["::/0", "10.1.2.3:443", undefined],
  ["::/1", "10.1.2.3:443", undefined],
  ["::/0", "[::ffff:10.1.2.3]:443", undefined],
  // IPv4-mapped IPv6
  ["::ffff:0:0/96", "10.1.2.3:443", "::ffff:0:0/96"],
  ["10.0.0.0/8", "[::ffff:10.1.2.3]:443", "10.0.0.0/8"],
  ["10.1.2.3", "[::ffff:a01:203]:443", "10.1.2.3"],
  ["::ffff:10.1.2.3", "10.1.2.3:443", "::ffff:10.1.2.3"],
  ["::ffff:10.0.0.0/104", "10.1.2.3:443", "::ffff:10.0.0.0/104"],
  // Lists
  ["a.com b.com", "b.com:443", "b.com"],
  [" a.com , b.com ", "b.com:443", "b.com"],
  ["a.com,\tb.com\n", "b.com:443", "b.com"],
  ["localhost,127.0.0.1,192.168.0.0/16,172.16.0.0/12,10.0.0.0/8", "10.4.5.6:3080", "10.0.0.0/8"],
  ["localhost,127.0.0.1,192.168.0.0/16,172.16.0.0/12,10.0.0.0/8", "proxy.example.com:3080", undefined],
  ["a.com,a.com:443", "a.com:443", "a.com"],
];

describe("NO_PROXY", () => {
  test.for(cases)("%j for %s is excluded by %j", ([list, target, entry]) => {
    expect(matchNoProxy(parseHostPort(target, undefined, "target"), list).entry).toBe(entry);
  });

  test.for([
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/x",
    "fd00::/129",
    "::ffff:10.0.0.0/8",
    "example.com/8",
    "http://example.com",
    "[example.com]",
    "[fd00::1",
    "example.com:0",
    "0",
    "65536",
    "167838211",
    "example.com:70000",
    "example.com:https",
    "foo*.com",
    "a.*.com",
    "user@example.com",
    ".",
    "*.",
    "..example.com",
  ])("%s has no meaning and is reported", (text) => {
    expect(matchNoProxy({ host: "example.com", port: 443 }, `${text},zzz`)).toEqual({ notUnderstood: [text] });
  });

  test("an entry that is not understood does not hide the ones after it", () => {
    expect(matchNoProxy({ host: "b.com", port: 1 }, "a.com:https,b.com")).toEqual({ entry: "b.com", notUnderstood: ["a.com:https"] });
  });

  test("it never throws on any text or target", () => {
    const hosts = fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(hosts, fc.nat(65_535), fc.oneof(fc.string(), fc.array(hosts).map(String)), (host, port, list) => {
        matchNoProxy({ host, port }, list);
      }),
    );
  });

  const port = fc.integer({ min: 1, max: 65_535 });
  const address = fc.oneof(fc.ipV4(), fc.ipV6());

  test("a number alone is that port of every host, and of no other port", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), address), port, port, (host, one, other) => {
        expect(matchNoProxy({ host, port: one }, String(one)).entry).toBe(String(one));
        expect(matchNoProxy({ host, port: one }, String(other)).entry).toBe(one === other ? String(other) : undefined);
      }),
    );
  });

  test("a network of one family has no address of the other", () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.ipV6().filter((one) => !one.includes(".") && !one.startsWith("::")),
        fc.nat(128),
        (four, six, bits) => {
          expect(matchNoProxy({ host: four, port: 1 }, `${six}/${bits}`).entry).toBeUndefined();
          expect(matchNoProxy({ host: six, port: 1 }, `${four}/${bits % 33}`).entry).toBeUndefined();
        },
      ),
    );
  });

  test("a name in Unicode and its xn-- form are one name", () => {
    const label = fc.array(fc.constantFrom("ä", "é", "ß", "я", "日", "a", "Ü"), { minLength: 1, maxLength: 8 }).map((letters) => letters.join(""));
    fc.assert(
      fc.property(label, (first) => {
        const name = `${first}.example`;
        const ascii = domainToASCII(name);
        for (const [entry, host] of [
          [name, ascii],
          [ascii, name],
          [`.${name}`, `a.${ascii}`],
        ] as const) {
          expect(matchNoProxy({ host, port: 443 }, entry).entry).toBe(entry);
        }
      }),
    );
  });

  test("a host is excluded by itself, with and without its port", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6()), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        const written = host.includes(":") ? `[${host}]` : host;
        expect(matchNoProxy({ host, port }, host).entry).toBe(host);
        expect(matchNoProxy({ host, port }, `${written}:${port}`).entry).toBe(`${written}:${port}`);
        expect(matchNoProxy({ host, port }, `${written}:${(port % 65_535) + 1}`).entry).toBeUndefined();
      }),
    );
  });
});
