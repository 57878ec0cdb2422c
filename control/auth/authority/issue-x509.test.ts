import { generateKeyPairSync, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { subjectOf } from "../../../core/identity/certified-identity.ts";
import { fromX509Subject, type Identity } from "../../../core/identity/identity.ts";
import { decodeAuthorityKeys, makeAuthorityKeys } from "./authority-keys.ts";
import { issueLeaf } from "./issue-x509.ts";

const now = new Date("2026-11-20T12:00:00Z");
const validBefore = new Date("2026-11-21T00:00:00Z");
const keys = await decodeAuthorityKeys("user", await makeAuthorityKeys({ kind: "user", cluster: "example.com", now }));
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" });

async function roundTrip(identity: Identity): Promise<Identity> {
  const certificate = new X509Certificate(await issueLeaf(keys, { identity, publicKey, now, names: [] }));
  expect(certificate.checkIssued(new X509Certificate(keys.certificate.toString("pem")))).toBe(true);
  return fromX509Subject(subjectOf(certificate), validBefore);
}

const user = { kind: "user", roles: ["access"], traits: {}, cluster: "example.com", validBefore } as const;

test.for(["CORP\\alice", "CORP\\0dan", "a\\0a", "x\\\\y", "\\", "a+b@c", "svc$"])(
  "the login %s stands in the certificate as it is",
  async (login) => {
    const identity: Identity = { ...user, name: "alice", logins: [login, "root"] };
    if (login.startsWith("\\")) await expect(roundTrip(identity)).rejects.toMatchObject({ code: "unauthenticated" });
    else expect(await roundTrip(identity)).toEqual(identity);
  },
);

test("any user survives an X.509 certificate", async () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,20}$/);
  const login = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._@\\+-]{0,20}\$?$/);
  const users = fc.record({
    kind: fc.constant("user" as const),
    name,
    roles: fc.array(name, { maxLength: 4 }),
    traits: fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), fc.array(fc.string({ unit: "grapheme", maxLength: 10 }), { maxLength: 3 }), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    logins: fc.array(login, { maxLength: 4 }),
    cluster: fc.constant("example.com"),
    validBefore: fc.constant(validBefore),
  });
  await fc.assert(
    fc.asyncProperty(users, async (identity) => {
      expect(await roundTrip(identity)).toEqual(identity);
    }),
    { numRuns: 200 },
  );
});
