import { generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openStatement, signStatement } from "./upgrade-statement.ts";

const now = new Date(1_800_000_000_000);
const facts = { host: "b7c1", channel: "stable/cloud", version: "v1.2.3", critical: true };

function newKey(): { key: KeyObject; line: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const blob = Buffer.concat([Buffer.from("0000000b7373682d6564323535313900000020", "hex"), raw]);
  return { key: privateKey, line: `ssh-ed25519 ${blob.toString("base64")} host authority` };
}
const [own, other] = [newKey(), newKey()];
const text = signStatement(facts, { key: own.key, now });

test("a statement is verified with any of the keys", () => {
  const statement = { ...facts, issued: 1_800_000_000, expires: 1_800_003_600 };
  expect(openStatement(text, [own.line])).toEqual(statement);
  expect(openStatement(text, ["# a comment", other.line, own.line])).toEqual(statement);
});

test("it is invalid without the key, and with another one", () => {
  expect(openStatement(text, [])).toBeUndefined();
  expect(openStatement(text, [other.line])).toBeUndefined();
  expect(openStatement(text, [own.line.replace("AAAA", "AAAB"), "ssh-rsa AAAA", "ssh-ed25519 AAAA"])).toBeUndefined();
});

test("no change of one character leaves it valid, and it never throws on any text", () => {
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom("A", "b", "7", "_", ".", " "), (at, put) => {
      // The last character of each part has bits that are not used.
      const loose = at === text.length - 1 || at === text.indexOf(".") - 1;
      if (text[at] !== put && !loose) expect(openStatement(text.slice(0, at) + put + text.slice(at + 1), [own.line])).toBeUndefined();
    }),
  );
  fc.assert(fc.property(fc.string(), fc.string(), (any, key) => openStatement(any, [key, own.line]) === undefined));
  for (const payload of ["null", "[]", "{}", "{", JSON.stringify({ ...facts, critical: "yes", issued: 1, expires: 2 })]) {
    const signature = text.split(".")[1];
    expect(openStatement(`${Buffer.from(payload).toString("base64url")}.${signature}`, [own.line])).toBeUndefined();
  }
});
