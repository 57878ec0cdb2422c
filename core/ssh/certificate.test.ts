import fc from "fast-check";
import { expect, test } from "vitest";
import { string } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { fromSshCertificate, toSshCertificate } from "../identity/ssh-identity.ts";
import { certificateLine, forever, parseCertificate, parseCertificateLine, readOptions, signCertificate, writeOptions } from "./certificate.ts";
import { publicBlob } from "./keys.ts";
import { authority, inAnHour, now, sign, subject } from "./testing/certificate-fixture.ts";

test("a certificate is read from its line, with the signed fields", () => {
  const blob = sign({ serial: 2n ** 64n - 1n });
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
