import { expect, test } from "vitest";
import { findConfirmation, offerConfirmation } from "./open-pages.ts";

test("a shell gets what the open page of its cluster has confirmed, while that is open, and nothing of another cluster", async () => {
  const [prod, stage] = [offerConfirmation("prod", "c1"), offerConfirmation("stage", "c2")];
  expect(await findConfirmation("prod", new Set())).toBe("c1");
  expect(await findConfirmation("stage", new Set(["c1"]))).toBe("c2");
  // Those that were refused are not worth another try, also where several pages are open.
  const stale = offerConfirmation("prod", "c0");
  expect(await findConfirmation("prod", new Set(["c0"]))).toBe("c1");
  expect(await findConfirmation("prod", new Set(["c0", "c1"]))).toBeUndefined();
  stale();
  prod();
  expect(await findConfirmation("prod", new Set())).toBeUndefined();
  stage();
});
