import { generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { string } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import {
  blobLine,
  fromOpensshPrivate,
  generateSshKey,
  lineBlob,
  parsePublicBlob,
  parsePublicLine,
  publicBlob,
  publicLine,
  readMpint,
  toOpensshPrivate,
  writeMpint,
} from "./keys.ts";
import { signBlob, verifyBlob } from "./signature.ts";

const keys: readonly (readonly [string, KeyObject])[] = [
  ["ssh-ed25519", generateKeyPairSync("ed25519").privateKey],
  ["ecdsa-sha2-nistp256", generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey],
  ["ecdsa-sha2-nistp384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
  ["ecdsa-sha2-nistp521", generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey],
  ["ssh-rsa", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
];

test.for(keys)("a public key of type %s survives as blob and as line", ([type, key]) => {
  const blob = publicBlob(key);
  const parsed = parsePublicBlob(blob);
  expect(parsed.type).toBe(type);
  expect(publicBlob(parsed.key).equals(blob)).toBe(true);
  expect(publicBlob(parsePublicLine(publicLine(key, "a comment"))).equals(blob)).toBe(true);
});

test.for(keys)("a signature by %s verifies; over other data, by another key, or changed, does not", ([, key]) => {
  const data = Buffer.from("data");
  const signature = signBlob(key, data);
  const other = generateSshKey().privateKey;
  expect(verifyBlob({ key, data, signature })).toBe(true);
  expect(verifyBlob({ key, data: Buffer.from("date"), signature })).toBe(false);
  expect(verifyBlob({ key: other, data, signature })).toBe(false);
  expect(verifyBlob({ key, data, signature, algorithm: "rsa-sha2-256" })).toBe(false);
  fc.assert(
    fc.property(fc.nat({ max: signature.length - 1 }), fc.integer({ min: 1, max: 255 }), (position, bits) => {
      const changed = Buffer.from(signature);
      changed.writeUInt8(changed.readUInt8(position) ^ bits, position);
      return !verifyBlob({ key, data, signature: changed });
    }),
  );
});

test("hostile bytes are not a valid signature", () => {
  const { privateKey: key } = generateSshKey();
  fc.assert(fc.property(fc.uint8Array(), (bytes) => !verifyBlob({ key, data: Buffer.from("x"), signature: Buffer.from(bytes) })));
});

test("an Ed25519 key survives its OpenSSH file; the file has LF lines and ends in one", () => {
  const { privateKey } = generateSshKey();
  const file = toOpensshPrivate(privateKey);
  expect(file).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/=]{1,70}\n)+-----END OPENSSH PRIVATE KEY-----\n$/);
  expect(fromOpensshPrivate(file).equals(privateKey)).toBe(true);
});

test("only Ed25519 keys are written as OpenSSH files", () => {
  const [, rsa] = keys[4] as (typeof keys)[number];
  expect(() => toOpensshPrivate(rsa)).toThrow(PlatformError);
});

test("a changed OpenSSH file either reads as the same key or is refused with a PlatformError", () => {
  const { privateKey } = generateSshKey();
  const file = toOpensshPrivate(privateKey);
  fc.assert(
    fc.property(fc.nat({ max: file.length - 1 }), fc.constantFrom("A", "z", "9", "\n", "-"), (position, character) => {
      const changed = file.slice(0, position) + character + file.slice(position + 1);
      return onlyPlatformErrors(() => expect(fromOpensshPrivate(changed).equals(privateKey)).toBe(true));
    }),
  );
});

test.for([
  ["nothing", ""],
  ["a type alone", "ssh-ed25519"],
  ["no base64", "ssh-ed25519 ???"],
  ["another type than its blob", `ssh-rsa ${publicBlob(generateSshKey().privateKey).toString("base64")}`],
  ["an unknown type", blobLine(string("ssh-dss"), "")],
  ["a type named after an object's property", blobLine(string("ecdsa-sha2-constructor"), "")],
  ["a short Ed25519 key", blobLine(Buffer.concat([string("ssh-ed25519"), string(Buffer.alloc(31))]), "")],
  ["a point off its curve", blobLine(Buffer.concat([string("ecdsa-sha2-nistp256"), string("nistp256"), string(Buffer.alloc(65, 4))]), "")],
  ["two curves", blobLine(Buffer.concat([string("ecdsa-sha2-nistp256"), string("nistp384"), string(Buffer.alloc(65, 4))]), "")],
  ["a weak RSA key", blobLine(Buffer.concat([string("ssh-rsa"), string(Buffer.of(3)), string(Buffer.alloc(128, 1))]), "")],
  ["unexpected bytes at the end", blobLine(Buffer.concat([publicBlob(generateSshKey().privateKey), Buffer.of(0)]), "")],
] as const)("a public line of %s is refused", ([, line]) => {
  expect(() => parsePublicLine(line)).toThrow(PlatformError);
});

test("hostile blobs only throw PlatformError", () => {
  const types = fc.constantFrom(...keys.map(([type]) => type), "x");
  fc.assert(
    fc.property(types, fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 }), (type, fields) =>
      onlyPlatformErrors(() => parsePublicBlob(Buffer.concat([string(type), ...fields.map((field) => string(Buffer.from(field)))]))),
    ),
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => onlyPlatformErrors(() => parsePublicBlob(Buffer.from(bytes)))));
  fc.assert(fc.property(fc.string(), (line) => onlyPlatformErrors(() => lineBlob(line))));
});

test("a comment cannot start a second line", () => {
  expect(publicLine(generateSshKey().privateKey, "a\nssh-ed25519 AAAA b")).not.toContain("\n");
});

test("numbers survive as mpint; negative and longer ones are refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 66 }), (bytes) => {
      const padded = Buffer.concat([Buffer.alloc(66 - bytes.length), Buffer.from(bytes)]);
      expect(readMpint(writeMpint(padded).subarray(4), 66).equals(padded)).toBe(true);
    }),
  );
  expect(() => readMpint(Buffer.of(0x80))).toThrow(PlatformError);
  expect(() => readMpint(Buffer.of(1, 1), 1)).toThrow(PlatformError);
});

function onlyPlatformErrors(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch (thrown) {
    return thrown instanceof PlatformError;
  }
}
