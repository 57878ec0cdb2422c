import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { ParsedKey } from "ssh2";
import { Reader } from "../bytes/fields.ts";
import { certificateSuffix, plainAlgorithm } from "./algorithms.ts";
import { publicBlob, toOpensshPrivate } from "./keys.ts";
import { signRaw } from "./signature.ts";
import { parseKeyText } from "./ssh2/hooks.ts";

let template: ParsedKey | undefined;

/**
 * A key for ssh2 that presents a certificate and signs with our own code. ssh2 recognizes keys by a private symbol, so this
 * one inherits from a parsed key whose secret is never used.
 */
export function certificateKey(options: { privateKey: KeyObject; certificate: Buffer }): ParsedKey {
  template ??= parseKeyText(toOpensshPrivate(generateKeyPairSync("ed25519").privateKey));
  const type = requestAlgorithm(new Reader(options.certificate).text());
  const sign = (data: Buffer | string): Buffer => signRaw(options.privateKey, Buffer.from(data), plainAlgorithm(type));
  return Object.create(template, {
    type: { value: type, enumerable: true },
    comment: { value: "", enumerable: true },
    sign: { value: sign },
    getPublicSSH: { value: () => options.certificate },
  });
}

/** The same key without its certificate, for clients that know hosts by keys alone. */
export function plainKey({ privateKey, certificate }: { privateKey: KeyObject; certificate: Buffer }): ParsedKey {
  const type = plainAlgorithm(requestAlgorithm(new Reader(certificate).text()));
  const blob = publicBlob(privateKey);
  return Object.create(certificateKey({ privateKey, certificate }), { type: { value: type, enumerable: true }, getPublicSSH: { value: () => blob } });
}

/** An RSA certificate's type names SHA-1; the algorithm to ask for does not. */
function requestAlgorithm(type: string): string {
  return type === `ssh-rsa${certificateSuffix}` ? `rsa-sha2-512${certificateSuffix}` : type;
}
