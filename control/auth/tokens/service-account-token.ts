import { createPublicKey, type JsonWebKey, type KeyObject, verify } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/*
 * Tokens of Kubernetes service accounts: JWTs in compact form (RFC 7515), `base64url(header).base64url(claims).base64url(signature)`, that the
 * kubelet projects into a pod for one audience. Source: kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin.
 */

/** Longest token that is looked at, characters: real ones have about 1,100. */
export const maxServiceAccountToken = 16_384;
/** Longest life of a token, s. One that lasts longer is kept somewhere, and not projected by the kubelet for joining. */
const maxLife = 3600 + 10;
/** Largest difference of the clocks, s. */
const skew = 30;
/** Most keys of a set that are tried. */
const maxKeys = 32;

/** Whom a token is for. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  /** Name of the pod. */
  readonly pod: string;
}

export interface TokenWanted {
  readonly audience: string;
  /** `iss`; omitted: any, as the keys are those of one cluster. */
  readonly issuer?: string | undefined;
  readonly now: Date;
}

const name = z.string().min(1).max(253);
const claimsSchema = z.object({
  iss: z.string().max(1024).optional(),
  sub: z.string().max(600),
  aud: z.union([z.string(), z.array(z.string()).max(32)]),
  exp: z.number(),
  iat: z.number(),
  nbf: z.number().optional(),
  "kubernetes.io": z.object({
    namespace: name,
    serviceaccount: z.object({ name }),
    pod: z.object({ name }),
  }),
});

const headerSchema = z.object({ alg: z.enum(["RS256", "ES256"]), kid: z.string().max(256).optional(), crit: z.undefined().optional() });

interface ReadToken {
  readonly header: z.infer<typeof headerSchema>;
  readonly account: ServiceAccount;
  readonly signed: string;
  readonly signature: Buffer;
}

/**
 * Reads a token and judges all but its signature: for this audience, valid now, short-lived, bound to a pod, its names consistent. Pure. Throws
 * `denied` with the reason.
 */
export function readServiceAccountToken(token: string, wanted: TokenWanted): ReadToken {
  if (token.length > maxServiceAccountToken) throw denied("it is too long");
  const parts = token.split(".");
  const [head = "", body = "", mark = ""] = parts;
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) throw denied("it is not a JWT");
  const header = headerSchema.safeParse(decode(head));
  if (!header.success) throw denied("its algorithm is neither RS256 nor ES256");
  const claims = claimsSchema.safeParse(decode(body));
  if (!claims.success)
    throw denied(
      `its claim ${claims.error.issues[0]?.path.join(".") ?? ""} is missing or malformed: it is not a token that the kubelet projected into a pod`,
    );
  return { header: header.data, account: judgeClaims(claims.data, wanted), signed: `${head}.${body}`, signature: Buffer.from(mark, "base64url") };
}

function judgeClaims(claims: z.infer<typeof claimsSchema>, { audience, issuer, now }: TokenWanted): ServiceAccount {
  const { namespace, serviceaccount, pod } = claims["kubernetes.io"];
  const at = now.getTime() / 1000;
  if (claims.sub !== `system:serviceaccount:${namespace}:${serviceaccount.name}`) throw denied("its subject is not its service account");
  if (![claims.aud].flat().includes(audience)) throw denied(`it is not for the audience ${audience}`);
  if (issuer !== undefined && claims.iss !== issuer) throw denied("another issuer made it");
  if (claims.exp + skew <= at) throw denied("it has expired");
  if ((claims.nbf ?? claims.iat) - skew > at || claims.iat - skew > at) throw denied("it is not valid yet: check the clocks");
  if (claims.exp - claims.iat > maxLife) throw denied("it is valid for more than an hour: use a projected token");
  return { namespace, name: serviceaccount.name, pod: pod.name };
}

/**
 * Verifies a token with a cluster's key set (JWKS, as `kubectl get --raw /openid/v1/jwks` prints it). Pure. Throws `denied` with the reason; `invalid`
 * if the set cannot be read.
 */
export function verifyServiceAccountToken(token: string, wanted: TokenWanted & { readonly jwks: string }): ServiceAccount {
  const { header, account, signed, signature } = readServiceAccountToken(token, wanted);
  const keys = readKeySet(wanted.jwks).filter(({ kid }) => header.kid === undefined || kid === undefined || kid === header.kid);
  const isValid = keys.some(
    ({ key, alg }) => alg === header.alg && verify("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }, signature),
  );
  if (!isValid) throw denied("none of the cluster's keys has signed it");
  return account;
}

interface SetKey {
  readonly kid: string | undefined;
  /** The only algorithm that it is for. */
  readonly alg: "RS256" | "ES256";
  readonly key: KeyObject;
}

const keySetSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1).max(maxKeys) });

/** The public keys of a set; others than RSA of 2048 bits and more, and P-256, are left out. Throws `invalid` if none is left. */
export function readKeySet(jwks: string): readonly SetKey[] {
  const set = keySetSchema.safeParse(parse(jwks));
  const keys = set.success ? set.data.keys.flatMap(readSetKey) : [];
  if (keys.length === 0)
    throw new PlatformError("invalid", "the key set has no key for RS256 or ES256", { hint: "kubectl get --raw /openid/v1/jwks prints it" });
  return keys;
}

function readSetKey(jwk: Readonly<Record<string, unknown>>): readonly SetKey[] {
  // Every reader of the document would see a secret in it.
  if ("d" in jwk) throw new PlatformError("invalid", "the key set holds a private key", { hint: "replace that key: it counts as known" });
  let key: KeyObject;
  try {
    key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
  } catch {
    return [];
  }
  const kid = typeof jwk.kid === "string" ? jwk.kid : undefined;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa" && (details?.modulusLength ?? 0) >= 2048) return [{ kid, alg: "RS256", key }];
  return type === "ec" && details?.namedCurve === "prime256v1" ? [{ kid, alg: "ES256", key }] : [];
}

function decode(part: string): unknown {
  return parse(Buffer.from(part, "base64url").toString("utf8"));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function denied(why: string): PlatformError {
  return new PlatformError("denied", `the service account's token is refused: ${why}`);
}
