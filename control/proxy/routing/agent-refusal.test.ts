import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { agentRefusal } from "./agent-refusal.ts";

const missing = new PlatformError("mfa_required", "read your next code to the help desk at +49 30 1234", { hint: "do so now" });

test("that a code is missing is stated in the proxy's words, not in the agent's", () => {
  const error = agentRefusal(missing, { what: "host web-1", isConfirmed: false });
  expect(error).toMatchObject({ code: "mfa_required", message: "host web-1 needs a one-time code for each session" });
  expect(error.hint).toBeUndefined();
});

test("after a code has confirmed the session, an agent that asks for another one is an error", () => {
  const error = agentRefusal(missing, { what: "host web-1", isConfirmed: true });
  expect(error).toMatchObject({ code: "denied", message: expect.stringContaining("although one has confirmed this session") });
});

test("other refusals are passed on", () => {
  const denied = new PlatformError("denied", "access denied");
  expect(agentRefusal(denied, { what: "host web-1", isConfirmed: true })).toBe(denied);
});
