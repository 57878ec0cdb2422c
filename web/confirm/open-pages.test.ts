import { expect, test } from "vitest";
import { findConfirmation, offerConfirmation } from "./open-pages.ts";

test("a shell gets what the open page of its cluster has confirmed, while that is open, and nothing of another cluster", async () => {
  const [prod, stage] = [offerConfirmation("prod", "c1"), offerConfirmation("stage", "c2")];
  expect(await findConfirmation("prod", undefined)).toBe("c1");
  expect(await findConfirmation("stage", "c1")).toBe("c2");
  // The one that was refused is not worth another try.
  expect(await findConfirmation("prod", "c1")).toBeUndefined();
  prod();
  expect(await findConfirmation("prod", undefined)).toBeUndefined();
  stage();
});
