import fc from "fast-check";
import { expect, test } from "vitest";
import { string } from "../bytes/writer.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { fromSshCertificate, toSshCertificate } from "../identity/identity.ts";
import {
  type CheckCertificateOptions,
  certificateLine,
  checkCertificate,
  forever,
  parseCertificate,
  parseCertificateLine,
  type SignCertificateOptions,
  signCertificate,
} from "./certificate.ts";
import { readOptions, writeOptions } from "./certificate-lists.ts";
import { generateSshKey, publicBlob } from "./keys.ts";

const authority = generateSshKey();
const stranger = generateSshKey();
const subject = generateSshKey().privateKey;
const now = new Date("2026-11-20T12:00:00Z");
const inAnHour = new Date("2026-11-20T13:00:00Z");

function sign(more: Partial<SignCertificateOptions & SignCertificateOptions["fields"]> = {}): Buffer {
  const fields = {
    type: more.type ?? "user",
    keyId: more.keyId ?? "alice",
    principals: more.principals ?? ["root", "alice"],
    extensions: more.extensions ?? new Map([["permit-pty", ""]]),
    validBefore: more.validBefore ?? inAnHour,
  } as const;
  return signCertificate({ key: subject, authority: authority.privateKey, validAfter: new Date("2026-11-20T11:00:00Z"), ...more, fields });
}

function check(blob: Buffer, more: Partial<CheckCertificateOptions> = {}): void {
  checkCertificate(parseCertificate(blob), { type: "user", authorities: [authority.publicLine], principal: "root", now, ...more });
}

test("a valid certificate passes, as a blob and as a line, with the signed fields", () => {
  const blob = sign({ serial: 2n ** 64n - 1n });
  check(blob);
  const parsed = parseCertificateLine(certificateLine(blob));
  expect(parsed).toMatchObject({ type: "user", keyType: "ssh-ed25519", keyId: "alice", principals: ["root", "alice"], serial: 2n ** 64n - 1n });
  expect(parsed.validBefore).toEqual(inAnHour);
  expect(publicBlob(parsed.key).equals(publicBlob(subject))).toBe(true);
});

test("an identity survives its certificate", () => {
  const identity = {
    kind: "user" as const,
    name: "alice",
    roles: ["access", "editor"],
    traits: { logins: ["root"] },
    principals: { ssh: { login: ["root"] } },
    cluster: "example.com",
    validBefore: inAnHour,
  };
  const blob = signCertificate({ fields: toSshCertificate(identity), key: subject, authority: authority.privateKey, validAfter: now });
  expect(fromSshCertificate(parseCertificate(blob))).toEqual(identity);
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

test("signed fields are read back unchanged", () => {
  const time = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000));
  const text = fc.string({ maxLength: 40, unit: "grapheme" });
  const options = fc.dictionary(text, text, { maxKeys: 5 }).map((entries) => new Map(Object.entries(entries)));
  const wanted = fc.record({
    type: fc.constantFrom("user" as const, "host" as const),
    keyId: text,
    principals: fc.array(text, { maxLength: 5 }),
    extensions: options,
    criticalOptions: options,
    validAfter: time,
    validBefore: fc.oneof(time, fc.constant(forever)),
    serial: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  });
  fc.assert(
    fc.property(wanted, (fields) => {
      expect(parseCertificate(sign(fields))).toMatchObject(fields);
    }),
  );
});

test("a cut certificate and hostile bytes only throw PlatformError", () => {
  const blob = sign();
  for (let length = 0; length < blob.length; length += 1) expect(() => parseCertificate(blob.subarray(0, length))).toThrow(PlatformError);
  expect(() => parseCertificate(Buffer.concat([blob, Buffer.of(0)]))).toThrow(PlatformError);
  const type = string("ssh-ed25519-cert-v01@openssh.com");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, typed) => {
      expect(() => parseCertificate(typed ? Buffer.concat([type, bytes]) : Buffer.from(bytes))).toThrow(PlatformError);
    }),
  );
});

test.for([
  ["a plain key", publicBlob(subject)],
  ["33 KiB", Buffer.alloc(33 * 1024)],
  ["more than 256 principals", sign({ principals: Array.from({ length: 257 }, String) })],
  ["an unknown kind", flip(sign(), Buffer.from([0, 0, 0, 1, 0, 0, 0, 5]), Buffer.from([0, 0, 0, 3, 0, 0, 0, 5]))],
] as const)("%s is not a certificate", ([, blob]) => {
  expect(() => parseCertificate(blob)).toThrow(PlatformError);
});

test("options come in order, each once", () => {
  const pair = (name: string): Buffer => Buffer.concat([string(name), string("")]);
  expect(() => readOptions(Buffer.concat([pair("b"), pair("a")]))).toThrow(/out of order/);
  expect(() => readOptions(Buffer.concat([pair("a"), pair("a")]))).toThrow(/out of order/);
  expect([
    ...readOptions(
      writeOptions(
        new Map([
          ["b", "2"],
          ["a", "1"],
        ]),
      ),
    ),
  ]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
});

function flip(blob: Buffer, from: Buffer, to: Buffer): Buffer {
  const position = blob.indexOf(from);
  const changed = Buffer.from(blob);
  to.copy(changed, position);
  return changed;
}
