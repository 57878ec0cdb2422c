import { calculateJwkThumbprint } from "jose";
import { expect, test } from "vitest";
import { makeAuthorityKeys } from "./auth/authority/authority-keys.ts";
import { tokenKey } from "./token-key.ts";

test("the id of a key is its thumbprint, and nothing of the private half is in it", async () => {
  const { tls_certificate: pem } = await makeAuthorityKeys({ kind: "jwt", cluster: "test", now: new Date() });
  const key = tokenKey(pem);
  expect(key).toEqual({ kty: "EC", crv: "P-256", use: "sig", alg: "ES256", x: expect.any(String), y: expect.any(String), kid: expect.any(String) });
  expect(key.kid).toBe(await calculateJwkThumbprint(key));
});

test("bytes that are not a certificate are a fault of ours", () => {
  expect(() => tokenKey("x")).toThrow();
});
