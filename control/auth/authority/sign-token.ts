import { webcrypto } from "node:crypto";
import { tokenKey } from "../../token-key.ts";
import type { AuthorityKeys } from "./authority-keys.ts";

/** Claims of a token; times in seconds since 1970 (RFC 7519). */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly [name: string]: unknown;
}

/**
 * A token as its readers get it: `base64url(header).base64url(claims).base64url(r | s)` (RFC 7515, compact; ES256). Its header names the key, so that a
 * reader finds it among two during a rotation.
 */
export async function signToken({ certificate, tls }: Pick<AuthorityKeys, "certificate" | "tls">, claims: TokenClaims): Promise<string> {
  const { kid } = tokenKey(certificate.toString("pem"));
  const signed = [{ alg: "ES256", typ: "JWT", kid }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = await webcrypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, tls, Buffer.from(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}
