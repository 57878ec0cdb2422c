import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { certifiedAttestation, softwareAuthenticator } from "../../../test/inside/software-authenticator.ts";
import { countOf, decoyKey, newCredentialOf, statedChallenge } from "./webauthn.ts";

const site = { host: "access.example.com", port: 443 };
const challenge = randomBytes(72);
const ask = { challenge, origin: "https://access.example.com", rpId: site.host };
const authenticator = softwareAuthenticator({ counter: 5 });
const made = authenticator.make(ask);

/** Lists in lists, maps and texts that state more than there is, and without an end. */
const nested = [
  "81".repeat(4000),
  "a1".repeat(4000),
  "9bffffffffffffffff",
  "bbffffffffffffffff",
  "5affffffff",
  "7bffffffffffffffff",
  "9f",
  "bf",
  "c1".repeat(4000),
];
const hostile = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...nested.map((hex) => Buffer.from(hex, "hex"))));

test("a new credential and its assertions: key, count and challenge are read", async () => {
  const credential = await newCredentialOf(made, challenge, site);
  expect(credential).toMatchObject({ credentialId: authenticator.credentialId.toString("base64url"), counter: 5, isSynced: false });
  const { credentialId = "", publicKey = "" } = credential ?? {};
  const assertion = authenticator.assert({ ...ask, counter: 9 });
  expect(statedChallenge(assertion.clientData)).toEqual(challenge);
  const expected = { challenge, site, credentialId, publicKey };
  expect(await countOf(assertion, expected)).toBe(9);
  expect(await countOf(assertion, { ...expected, publicKey: decoyKey() })).toBeUndefined();
  expect(await countOf(assertion, { ...expected, site: { ...site, port: 3080 } })).toBeUndefined();
});

test("an attestation with a manufacturer's certificate, and one with any bytes behind a right beginning, is refused", async () => {
  const certified = authenticator.make({ ...ask, attestation: (data) => certifiedAttestation(data, Buffer.from("3000", "hex")) });
  expect(await newCredentialOf(certified, challenge, site)).toBeUndefined();
  await fc.assert(
    fc.asyncProperty(hostile, fc.integer({ min: 0, max: made.attestationObject.length - 1 }), async (bytes, cut) => {
      const attestationObject = Buffer.concat([made.attestationObject.subarray(0, cut), bytes]);
      fc.pre(!made.attestationObject.equals(attestationObject.subarray(0, made.attestationObject.length)));
      const found = await newCredentialOf({ ...made, attestationObject }, challenge, site);
      // Where only the last bytes differ, it is another key of the same form.
      expect(found?.publicKey).not.toBe((await newCredentialOf(made, challenge, site))?.publicKey);
    }),
    { numRuns: someRuns(300), examples: [[Buffer.alloc(0), 0]] },
  );
});

test("an assertion with any other bytes in one of its parts is refused", async () => {
  const { publicKey = "" } = (await newCredentialOf(made, challenge, site)) ?? {};
  const assertion = authenticator.assert(ask);
  const expected = { challenge, site, credentialId: authenticator.credentialId.toString("base64url"), publicKey };
  const parts = fc.constantFrom("clientData", "authenticatorData", "signature");
  await fc.assert(
    fc.asyncProperty(hostile, parts, fc.integer({ min: 0, max: 36 }), async (bytes, part, cut) => {
      const changed = Buffer.concat([assertion[part].subarray(0, cut), bytes]);
      fc.pre(!assertion[part].subarray(0, changed.length).equals(changed) || changed.length < assertion[part].length);
      statedChallenge(changed);
      expect(await countOf({ ...assertion, [part]: changed }, expected)).toBeUndefined();
    }),
    { numRuns: someRuns(300) },
  );
});

test("client data that is not JSON, or has another kind of challenge, has none", () => {
  for (const text of ["", "{", "null", "[]", '"x"', '{"challenge":1}', '{"challenge":"a b"}', `{"challenge":"${"A".repeat(200)}"}`])
    expect([text, statedChallenge(Buffer.from(text)).length]).toEqual([text, 0]);
});
