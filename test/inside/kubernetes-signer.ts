import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** Signs tokens of service accounts, as a Kubernetes cluster does. */
export interface KubernetesSigner {
  /** As `kubectl get --raw /openid/v1/jwks` prints it. */
  readonly jwks: string;
  token(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
}

export function kubernetesSigner(alg: "RS256" | "ES256" = "RS256", kid = "one"): KubernetesSigner {
  const { publicKey, privateKey } =
    alg === "RS256" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg }] });
  return { jwks, token: (claims, header = {}) => compact({ alg, kid, ...header }, claims, privateKey) };
}

/** Claims of a token for the pod `agent-0` with the account `access:agent`. */
export function podClaims(now: Date, audience: string): Record<string, unknown> {
  const at = Math.floor(now.getTime() / 1000);
  const [namespace, account] = ["access", "agent"];
  const place = { namespace, pod: { name: "agent-0", uid: "1" }, serviceaccount: { name: account, uid: "2" } };
  return {
    iss: "https://kubernetes.default.svc",
    sub: `system:serviceaccount:${namespace}:${account}`,
    aud: [audience],
    iat: at,
    nbf: at,
    exp: at + 600,
    "kubernetes.io": place,
  };
}

function compact(header: object, claims: object, key: KeyObject): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}
