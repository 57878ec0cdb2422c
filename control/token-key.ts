import { createHash, X509Certificate } from "node:crypto";

/** The public half of a key that signs tokens, as JSON Web Key (RFC 7517). */
export interface TokenKey {
  readonly kty: "EC";
  readonly crv: "P-256";
  /** Coordinates, base64url. */
  readonly x: string;
  readonly y: string;
  readonly use: "sig";
  readonly alg: "ES256";
  /** Thumbprint of the key (RFC 7638): the `kid` of its tokens. */
  readonly kid: string;
}

/** The key in an authority's certificate (PEM). Throws Error for a key that is not on P-256. Pure. */
export function tokenKey(pem: string): TokenKey {
  const { kty, crv, x, y } = new X509Certificate(pem).publicKey.export({ format: "jwk" });
  if (kty !== "EC" || crv !== "P-256" || x === undefined || y === undefined) throw new Error("the key of the token authority is not on P-256");
  // Members in the order of their names, without spaces: the input of the thumbprint is the same everywhere.
  const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
  return { kty, crv, x, y, use: "sig", alg: "ES256", kid };
}
