import { expect, test } from "vitest";
import { type ErrorCode, errorCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import { plainStatus, statusResponse } from "./status-response.ts";

test.each(errorCodes)("%s is a Status whose code is the one of HTTP", (code) => {
  const { head, body } = statusResponse(new PlatformError(code, "no", { hint: "do this" }));
  const status = JSON.parse(body.toString()) as { readonly code: number; readonly message: string; readonly reason: string };
  expect(status).toMatchObject({ kind: "Status", apiVersion: "v1", status: "Failure", message: "no; do this", code: head.status });
  expect(status.reason).not.toBe("");
  expect(head.status).toBeGreaterThanOrEqual(400);
  expect(head.headers).toContainEqual(["Content-Length", String(body.length)]);
});

test("its code is stated in a field of its own", () => {
  const codeIn = (code: ErrorCode) => statusResponse(new PlatformError(code, "no")).head.headers.find(([name]) => name === "platform-refusal")?.[1];
  expect([codeIn("mfa_required"), codeIn("denied")]).toEqual(["mfa_required", "denied"]);
});

test("an error of ours shows nothing of itself", () => {
  expect(statusResponse(new TypeError("x is undefined")).body.toString()).not.toContain("undefined");
  expect(plainStatus(405, "CONNECT is not supported").head.status).toBe(405);
});
