import { createHmac, createPublicKey } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { kubernetesSigner, podClaims } from "../../../test/inside/kubernetes-signer.ts";
import { maxServiceAccountToken, readKeySet, verifyServiceAccountToken } from "./service-account-token.ts";

const now = new Date("2026-11-24T06:00:00Z");
const at = now.getTime() / 1000;
const rsa = kubernetesSigner("RS256");
const ec = kubernetesSigner("ES256");
const other = kubernetesSigner("RS256");
const audience = "access.example.com";
const claims = podClaims(now, audience);
const check = (token: string, more: { jwks?: string; issuer?: string } = {}) =>
  verifyServiceAccountToken(token, { audience, now, jwks: rsa.jwks, ...more });
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return "accepted";
  } catch (thrown) {
    return thrown instanceof PlatformError ? thrown.code : String(thrown);
  }
};

test("a token that the kubelet projected is accepted, with either algorithm", () => {
  const account = { namespace: "access", name: "agent", pod: "agent-0" };
  expect(check(rsa.token(claims))).toEqual(account);
  expect(check(ec.token(claims), { jwks: ec.jwks })).toEqual(account);
  expect(check(rsa.token({ ...claims, aud: audience }), { issuer: "https://kubernetes.default.svc" })).toEqual(account);
  // While the cluster replaces its key, both are in the set.
  const both = JSON.stringify({ keys: [other, rsa].flatMap(({ jwks }) => (JSON.parse(jwks) as { keys: object[] }).keys) });
  expect(check(rsa.token(claims), { jwks: both })).toEqual(account);
});

const place = { namespace: "access", pod: { name: "agent-0" }, serviceaccount: { name: "agent" } };
const unsigned = (header: object): string => `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${rsa.token(claims).split(".")[1]}.`;
/** Signed with the public key as the secret of HMAC: accepted where the header chooses the algorithm. */
const confused = (): string => {
  const [key] = (JSON.parse(rsa.jwks) as { keys: [object] }).keys;
  const secret = createPublicKey({ key: { ...key }, format: "jwk" }).export({ type: "spki", format: "pem" });
  const signed = `${unsigned({ alg: "HS256", kid: "one" }).split(".").slice(0, 2).join(".")}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

test.for<readonly [string, () => string]>([
  ["of another cluster's key", () => other.token(claims)],
  ["without an algorithm", () => unsigned({ alg: "none" })],
  ["without an algorithm, signed", () => rsa.token(claims, { alg: "none" })],
  ["that uses the public key as a secret", confused],
  ["of RS256 that says ES256", () => rsa.token(claims, { alg: "ES256" })],
  ["with a key in its header", () => other.token(claims, { jwk: (JSON.parse(other.jwks) as { keys: object[] }).keys[0] })],
  ["of a key that is not in the set", () => rsa.token(claims, { kid: "two" })],
  ["with extensions that must be understood", () => rsa.token(claims, { crit: ["b64"], b64: false })],
  ["that has expired", () => rsa.token({ ...claims, iat: at - 1200, nbf: at - 1200, exp: at - 31 })],
  ["that is not valid yet", () => rsa.token({ ...claims, nbf: at + 60 })],
  ["of the future", () => rsa.token({ ...claims, iat: at + 60, exp: at + 600, nbf: undefined })],
  ["that lasts for a year", () => rsa.token({ ...claims, exp: at + 365 * 86_400 })],
  ["that never expires", () => rsa.token({ ...claims, exp: undefined })],
  ["for another audience", () => rsa.token({ ...claims, aud: ["https://kubernetes.default.svc"] })],
  ["for no audience", () => rsa.token({ ...claims, aud: [] })],
  ["for an audience that begins alike", () => rsa.token({ ...claims, aud: `${audience}.evil` })],
  ["whose subject is another account", () => rsa.token({ ...claims, sub: "system:serviceaccount:access:other" })],
  [
    "whose namespace holds a colon",
    () => rsa.token({ ...claims, sub: "system:serviceaccount:a:b:c", "kubernetes.io": { ...place, namespace: "a", serviceaccount: { name: "b" } } }),
  ],
  ["of a Secret, bound to no pod", () => rsa.token({ ...claims, "kubernetes.io": { ...place, pod: undefined } })],
  ["of a user", () => rsa.token({ ...claims, sub: "alice", "kubernetes.io": undefined })],
  ["whose names are lists", () => rsa.token({ ...claims, "kubernetes.io": { ...place, namespace: ["access"] } })],
  ["that is too long", () => rsa.token({ ...claims, more: "x".repeat(maxServiceAccountToken) })],
  ["in two parts", () => rsa.token(claims).split(".").slice(0, 2).join(".")],
  ["with a fourth part", () => `${rsa.token(claims)}.AAAA`],
  ["with a line break", () => `${rsa.token(claims)}\n`],
  ["whose signature is empty", () => `${rsa.token(claims).split(".").slice(0, 2).join(".")}.`],
  ["that is empty", () => ""],
])("a token %s is refused", ([, token]) => {
  expect(codeOf(() => check(token()))).toBe("denied");
});

test("another issuer is refused where the issuer is known", () => {
  expect(codeOf(() => check(rsa.token(claims), { issuer: "https://elsewhere" }))).toBe("denied");
  expect(codeOf(() => check(rsa.token({ ...claims, iss: undefined }), { issuer: "https://elsewhere" }))).toBe("denied");
});

test("a changed token is refused, wherever it was changed", () => {
  const token = rsa.token(claims);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom(..."ABCxyz012-_.".split("")), (index, letter) => {
      const changed = token.slice(0, index) + letter + token.slice(index + 1);
      const bytes = (text: string): string =>
        text
          .split(".")
          .map((part) => Buffer.from(part, "base64url").toString("hex"))
          .join();
      // The last letter of a part has unused bits.
      const isSame = changed.split(".").slice(0, 2).join() === token.split(".").slice(0, 2).join() && bytes(changed) === bytes(token);
      expect(codeOf(() => check(changed))).toBe(isSame ? "accepted" : "denied");
    }),
  );
});

test("anything at all is refused in order", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), (text) => {
      expect(codeOf(() => check(text))).toBe("denied");
    }),
  );
  const value = fc.jsonValue({ maxDepth: 3 });
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(claims)), value, (name, changed) => {
      const code = codeOf(() => check(rsa.token({ ...claims, [name]: changed })));
      expect(["accepted", "denied"]).toContain(code);
    }),
    { numRuns: someRuns(25) },
  );
});

test("a key set is read strictly", () => {
  const [key] = (JSON.parse(rsa.jwks) as { keys: [object] }).keys;
  expect(readKeySet(rsa.jwks)).toHaveLength(1);
  const weak = { ...key, n: (key as { n: string }).n.slice(0, 171) };
  const sets = ["", "{}", '{"keys":[]}', JSON.stringify({ keys: [{ kty: "oct", k: "AAAA" }] }), JSON.stringify({ keys: [weak] })];
  for (const set of [...sets, JSON.stringify({ keys: [{ ...key, d: "AAAA" }] }), JSON.stringify({ keys: Array(33).fill(key) })])
    expect(codeOf(() => readKeySet(set))).toBe("invalid");
});
