import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { credentialOf } from "./forget-passkey.ts";

const credential = (id: string) => ({ type: "public-key" as const, id, transports: [] });
const listed = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, 32);

test("the credential of a passkey in a list is found by the list's id", async () => {
  const allowCredentials = [credential("Zmlyc3Q"), credential("c2Vjb25k")];
  expect(await credentialOf(listed("c2Vjb25k"), { allowCredentials })).toBe("c2Vjb25k");
});

test("a passkey of another site has no credential here", async () => {
  const allowCredentials = [credential("Zmlyc3Q")];
  for (const id of [listed("c2Vjb25k"), ""]) expect(await credentialOf(id, { allowCredentials })).toBeUndefined();
});
