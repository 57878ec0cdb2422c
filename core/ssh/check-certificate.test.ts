import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { forever, parseCertificate } from "./certificate.ts";
import { type CheckCertificateOptions, checkCertificate, matchesSource } from "./check-certificate.ts";
import { publicBlob } from "./keys.ts";
import { authority, now, sign, stranger } from "./testing/certificate-fixture.ts";

function check(blob: Buffer, more: Partial<CheckCertificateOptions> = {}): void {
  checkCertificate(parseCertificate(blob), { type: "user", authorities: [authority.publicLine], principal: "root", now, ...more });
}

test("a valid certificate passes", () => {
  check(sign());
});

test.for([
  ["an unknown authority", sign({ authority: stranger.privateKey }), {}, /signed by an unknown authority/],
  ["no authority at all", sign(), { authorities: [] }, /signed by an unknown authority/],
  ["the wrong kind", sign({ type: "host" }), {}, /wrong kind: a user certificate is required/],
  ["the other wrong kind", sign(), { type: "host" }, /wrong kind: a host certificate is required/],
  ["one that has expired", sign({ validBefore: now }), {}, /expired at 2026-11-20T12:00:00.000Z/],
  ["one that is not valid yet", sign({ validAfter: new Date("2026-11-20T12:00:01Z") }), {}, /not valid before 2026-11-20T12:00:01.000Z/],
  ["a principal that is not listed", sign(), { principal: "bob" }, /does not list "bob"/],
  ["no principals", sign({ principals: [] }), {}, /does not list "root"/],
  ["part of a principal", sign({ principals: ["roots"] }), {}, /does not list "root"/],
  ["an unknown critical option", sign({ criticalOptions: new Map([["fly", ""]]) }), {}, /unknown critical option "fly"/],
  ["a forced command", sign({ criticalOptions: new Map([["force-command", "ls"]]) }), {}, /unknown critical option "force-command"/],
  ["an unknown source address", sign({ criticalOptions: new Map([["source-address", "10.0.0.0/8"]]) }), {}, /address/],
  [
    "another source address",
    sign({ criticalOptions: new Map([["source-address", "10.0.0.0/8"]]) }),
    { clientAddress: "192.0.2.1" },
    /may not be used from 192.0.2.1/,
  ],
] as const)("a certificate of %s is refused", ([, blob, options, reason]) => {
  expect(() => check(blob, options)).toThrow(reason);
  expect(() => check(blob, options)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

test.for([
  ["from its source address", sign({ criticalOptions: new Map([["source-address", "10.0.0.0/8,192.0.2.1"]]) }), { clientAddress: "192.0.2.1" }],
  ["without an end", sign({ validBefore: forever }), { now: new Date("9999-01-01T00:00:00Z") }],
  ["when no principal is asked for", sign({ principals: [] }), { principal: "" }],
  ["by the second of two authorities", sign(), { authorities: [stranger.publicLine, authority.publicLine] }],
] as const)("a certificate passes %s", ([, blob, { ...options }]) => {
  const { principal, ...rest } = { principal: "root", ...options };
  const asked = principal === "" ? rest : { ...rest, principal };
  checkCertificate(parseCertificate(blob), { type: "user", authorities: [authority.publicLine], now, ...asked });
});

test("the authority's name alone proves nothing: its signature counts", () => {
  const parsed = parseCertificate(sign({ authority: stranger.privateKey }));
  const forged = { ...parsed, authority: publicBlob(authority.privateKey) };
  expect(() => checkCertificate(forged, { type: "user", authorities: [authority.publicLine], now })).toThrow(/bad signature/);
});

test("a certificate with any bit changed is refused", () => {
  const blob = sign();
  fc.assert(
    fc.property(fc.nat({ max: blob.length - 1 }), fc.integer({ min: 1, max: 255 }), (position, bits) => {
      const changed = Buffer.from(blob);
      changed.writeUInt8(changed.readUInt8(position) ^ bits, position);
      expect(() => check(changed)).toThrow(PlatformError);
    }),
  );
});

test.for([
  ["10.0.0.0/8", "10.1.2.3", true],
  ["10.0.0.0/8", "11.1.2.3", false],
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["192.0.2.1, 10.0.0.0/8", "10.0.0.1", true],
  ["10.0.0.0/8", "::ffff:10.0.0.1", true],
  ["2001:db8::/32", "2001:db8::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["0.0.0.0/0", "203.0.113.7", true],
  ["10.0.0.0/33", "10.0.0.1", false],
  ["10.0.0.0/8/8", "10.0.0.1", false],
  ["10.0.0.0/x", "10.0.0.1", false],
  ["10.0.0.0/", "10.0.0.1", false],
  ["10.0.0.1,nonsense", "10.0.0.1", false],
  ["", "10.0.0.1", false],
  ["0.0.0.0/0", "not an address", false],
] as const)("source-address=%s from %s: %s", ([list, address, expected]) => {
  expect(matchesSource(list, address)).toBe(expected);
});
