import { expect, test } from "vitest";
import { mayOffer } from "./may-offer.ts";

test.each([
  [{}, "kube", "prod", true],
  [{ kube: ["prod"] }, "kube", "prod", true],
  [{ kube: ["prod"] }, "kube", "prod-eu", false],
  [{ kube: ["prod"] }, "kube", "Prod", false],
  [{ kube: ["prod-*", "dev"] }, "kube", "prod-eu", true],
  [{ kube: ["prod-*", "dev"] }, "kube", "dev", true],
  [{ kube: ["prod-*"] }, "kube", "prod", false],
  [{ kube: ["prod"] }, "db", "orders", true],
  [{ kube: ["*"], db: ["orders"] }, "db", "other", false],
] as const)("%j: %s %s may be offered: %s", (limits, kind, name, allowed) => {
  expect(mayOffer(limits, { kind, name })).toBe(allowed);
});
