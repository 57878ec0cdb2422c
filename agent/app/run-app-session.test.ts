import { Socket } from "node:net";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { lossOf } from "./run-app-session.ts";

test.for([
  [
    "vanished, by the agent's own check",
    new PlatformError("timeout", "application orders does not answer: nothing has come"),
    /^application orders does not answer/,
  ],
  [
    "vanished, by the kernel's",
    Object.assign(new Error("read ETIMEDOUT"), { code: "ETIMEDOUT" }),
    /^the connection to application orders was lost: .* timed out$/,
  ],
  ["reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), /was lost: the connection was reset$/],
  ["ended", undefined, undefined],
] as const)("a session has the reason that its application has %s", ([, error, reason]) => {
  const upstream = new Socket().on("error", () => {}).destroy(error);
  const loss = lossOf(upstream, "orders");
  if (reason === undefined) expect(loss).toBeUndefined();
  else expect(loss?.message).toMatch(reason);
});
