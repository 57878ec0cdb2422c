import { expect, test } from "vitest";
import { ciphersFor, knownAlgorithms, usualAlgorithms } from "./algorithms.ts";

const chacha = "chacha20-poly1305@openssh.com";
const openssh = [chacha, "aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com"];
const gcm = ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"];
const all = { ...usualAlgorithms, ciphers: knownAlgorithms.ciphers };

test.for<readonly [what: string, ciphers: readonly string[], isStrict: boolean, offered: readonly string[]]>([
  ["OpenSSH gets the fast ones, whatever its order", openssh, true, gcm],
  ["an old OpenSSH too", openssh, false, gcm],
  ["one that wants a single cipher gets it", [chacha], true, [chacha]],
  ["or one of its slow ones", ["aes256-ctr"], true, ["aes256-ctr"]],
  ["and is refused in the exchange when it has nothing safe", [chacha, "aes256-ctr"], false, knownAlgorithms.ciphers],
  ["or nothing that we have", ["3des-cbc"], true, knownAlgorithms.ciphers],
])("%s", ([, ciphers, isStrict, offered]) => {
  expect(ciphersFor({ ciphers, isStrict }, all)).toEqual(offered);
});

test("the defaults are AEAD, and all of them are known", () => {
  expect(usualAlgorithms.ciphers).toEqual([...gcm, chacha]);
  for (const kind of ["ciphers", "kexAlgos", "macAlgos"] as const)
    expect(knownAlgorithms[kind]).toEqual(expect.arrayContaining([...usualAlgorithms[kind]]));
});
