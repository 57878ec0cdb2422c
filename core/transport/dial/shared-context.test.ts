import { expect, test } from "vitest";
import { sharedContext } from "./shared-context.ts";
import { createTestAuthority } from "./testing/test-certificate.ts";

test("connections with the same certificate and authorities share a context, and no others", async () => {
  const [one, other] = [await createTestAuthority(), await createTestAuthority()];
  const { cert: certificate, key: privateKey } = await one.issue({ type: "dns", value: "reader" });
  const own = { certificate, privateKey };
  const context = sharedContext({ ca: [one.cert], ...own });
  expect(sharedContext({ ca: [String(one.cert)], ...own })).toBe(context);
  const others = [{ ca: [one.cert] }, { ca: [other.cert], ...own }, { ca: [one.cert, other.cert], ...own }, {}, { ca: [] }].map(sharedContext);
  expect(new Set([context, ...others]).size).toBe(6);
});

test("parts that OpenSSL cannot read are refused each time", () => {
  for (const _ of [1, 2]) expect(() => sharedContext({ certificate: "none", privateKey: "none" })).toThrow();
});
