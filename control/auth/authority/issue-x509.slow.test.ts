import { generateKeyPairSync, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Identity } from "../../../core/identity/identity.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { decodeAuthorityKeys, makeAuthorityKeys } from "./authority-keys.ts";
import { type DatabaseLeafFacts, issueDatabaseLeaf, issueLeaf } from "./issue-x509.ts";

const now = new Date("2026-11-20T12:00:00Z");
const validBefore = new Date("2026-11-21T00:00:00Z");
const keys = await decodeAuthorityKeys("user", await makeAuthorityKeys({ kind: "user", cluster: "example.com", now }));
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" });

async function roundTrip(identity: Identity): Promise<Identity> {
  const certificate = new X509Certificate(await issueLeaf(keys, { identity, publicKey, now, names: [] }));
  expect(certificate.checkIssued(new X509Certificate(keys.certificate.toString("pem")))).toBe(true);
  return fromX509Certificate(certificate);
}

const user = { kind: "user", roles: ["access"], traits: {}, cluster: "example.com", validBefore } as const;

test.for(["CORP\\alice", "CORP\\0dan", "a\\0a", "x\\\\y", "\\", "a+b@c", "svc$"])(
  "the login %s stands in the certificate as it is",
  async (login) => {
    const identity: Identity = { ...user, name: "alice", principals: { ssh: { login: [login, "root"] } } };
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
    principals: fc.record({ ssh: fc.record({ login: fc.array(login, { maxLength: 4 }) }) }),
    cluster: fc.constant("example.com"),
    validBefore: fc.constant(validBefore),
  });
  await fc.assert(
    fc.asyncProperty(users, async (identity) => {
      expect(await roundTrip(identity)).toEqual(identity);
    }),
    { numRuns: someRuns(200) },
  );
});

describe("a certificate for databases", () => {
  const issued = async (facts: Partial<DatabaseLeafFacts> = {}): Promise<X509Certificate> =>
    new X509Certificate(await issueDatabaseLeaf(keys, { publicKey, now, validBefore, subject: [["CN", "reader"]], names: [], ...facts }));

  test("of a client: its subject is the CN alone, for clients only, without names and without an identity of the cluster", async () => {
    const made = await issued();
    expect([made.subject, made.keyUsage, made.subjectAltName, made.ca]).toEqual(["CN=reader", ["1.3.6.1.5.5.7.3.2"], undefined, false]);
    expect(made.validToDate).toEqual(validBefore);
    expect(made.validFromDate).toEqual(new Date(now.getTime() - 60_000));
    expect(made.checkIssued(new X509Certificate(keys.certificate.toString("pem")))).toBe(true);
    expect(made.raw.includes(Buffer.from("access"))).toBe(false);
    expect(() => fromX509Certificate(made)).toThrow(expect.objectContaining({ code: "unauthenticated" }));
  });

  test("of a server: its names and addresses, for servers only", async () => {
    const names = ["db.internal", "*.db.internal", "192.0.2.1", "2001:db8::7"];
    const made = await issued({ subject: [["CN", "db.internal"]], names });
    expect(made.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(made.subjectAltName).toBe("DNS:db.internal, DNS:*.db.internal, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:7");
    expect([made.checkHost("db.internal"), made.checkIP("192.0.2.1"), made.checkHost("other")]).toEqual(["db.internal", "192.0.2.1", undefined]);
  });

  test("the order of the attributes is kept, as MySQL compares the whole subject", async () => {
    const subject = [
      ["CN", "db"],
      ["O", "example.com"],
    ] as const;
    expect((await issued({ subject })).subject).toBe("CN=db\nO=example.com");
  });

  /** The value of the only attribute, as its bytes are in the certificate. */
  function commonName(made: X509Certificate): string {
    const at = made.raw.lastIndexOf(Buffer.from([0x55, 0x04, 0x03]));
    const length = made.raw[at + 4] ?? 0;
    return made.raw.subarray(at + 5, at + 5 + length).toString("utf8");
  }

  test.for(["reader/CN=root", "reader,CN=root", "reader+O=x", "#616263", "\\0a", " reader ", "=", "读者", '"', "a;b"])(
    "an account that looks like more than one is one: %j",
    async (account) => {
      const made = await issued({ subject: [["CN", account]] });
      expect(commonName(made)).toBe(account);
      // The authority has a CN and an O; the subject adds one CN.
      const count = (attribute: number): number => made.raw.toString("hex").split(`06035504${attribute.toString(16).padStart(2, "0")}`).length - 1;
      expect([count(0x03), count(0x0a)]).toEqual([2, 1]);
    },
  );

  test("any account survives as it is", async () => {
    const account = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
      .filter((text) => Buffer.byteLength(text) < 100 && !/\p{Cc}/u.test(text));
    await fc.assert(
      fc.asyncProperty(account, async (text) => {
        expect(commonName(await issued({ subject: [["CN", text]] }))).toBe(text);
      }),
      { numRuns: someRuns(100) },
    );
  });
});
