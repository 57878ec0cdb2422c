import { expect, test } from "vitest";
import { crashText } from "./crash-text.ts";

test("a crash shows the failure first, then the clean-up's; anything thrown is shown", () => {
  const [failure, cleanup] = [new Error("disk full"), new Error("cannot remove")];
  const shown = crashText("tctl", new SuppressedError(cleanup, failure));
  expect(shown.match(/^ERROR: .*/gm)).toEqual(["ERROR: tctl: internal error: disk full", "ERROR: tctl: internal error: cannot remove"]);
  expect(shown).toContain(failure.stack);
  expect(crashText("tsh", "why")).toMatch(/^ERROR: tsh: internal error: why\n/);
});

test("what `using` throws where the system has no SuppressedError is known by its name", () => {
  const thrown = Object.assign(new Error("two"), { name: "SuppressedError", error: new Error("second"), suppressed: new Error("first") });
  expect(crashText("tsh", thrown).match(/^ERROR: .*/gm)).toEqual(["ERROR: tsh: internal error: first", "ERROR: tsh: internal error: second"]);
});
