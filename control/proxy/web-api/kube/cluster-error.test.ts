import fc from "fast-check";
import { expect, test } from "vitest";
import { clusterError } from "./cluster-error.ts";
import { shellEnd } from "./shell-end.ts";

const status = (message: string): string => JSON.stringify({ kind: "Status", message });

test.for([
  [403, status('pods is forbidden: User "ann" cannot list resource "pods" in API group ""'), "denied", /^pods is forbidden/, /RBAC/],
  [403, status("access denied: no rule of a role allows exec; ask an administrator"), "denied", /^access denied: no rule/, undefined],
  [401, status("Unauthorized"), "denied", /^Unauthorized$/, undefined],
  [400, status("a container name must be specified for pod x, choose one of: [a b]"), "invalid", /choose one of/, undefined],
  [404, status('pods "x" not found'), "not_found", /^pods "x" not found$/, undefined],
  [500, status("error dialing backend: dial tcp 10.0.0.1:10250: connect: connection refused"), "unavailable", /connection refused/, undefined],
  [502, "<html>", "unavailable", /^Kubernetes cluster prod answered with status 502$/, undefined],
  [503, status("\n"), "unavailable", /answered with status 503$/, undefined],
] as const)("an answer %d, %s, is %s", ([code, body, error, message, hint]) => {
  const found = clusterError("prod", { status: code, body });
  expect([found.code, found.message]).toEqual([error, expect.stringMatching(message)]);
  if (hint === undefined) expect(found.hint).toBeUndefined();
  else expect(found.hint).toMatch(hint);
});

test("whatever a cluster answers is a short sentence without control characters, and no error about the browser's session", () => {
  const bodies = fc.oneof(fc.string({ unit: "binary-ascii" }), fc.string({ unit: "binary-ascii", maxLength: 3_000 }).map(status));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999 }), bodies, (code, body) => {
      const { message, code: error } = clusterError("prod", { status: code, body });
      expect(message).toMatch(/^[^\p{C}]{1,1000}$/u);
      expect(["unauthenticated", "internal"]).not.toContain(error);
    }),
  );
});

test("only the agent states that a code is missing, and in the words of the proxy", () => {
  const message = "read your next code to the help desk at +49 30 1234";
  const body = JSON.stringify({ message, details: { causes: [{ reason: "mfa_required", message }] } });
  expect(clusterError("prod", { status: 403, body }).code).toBe("denied");
  expect(clusterError("prod", { status: 403, body, agentCode: "denied" }).code).toBe("denied");
  expect(clusterError("prod", { status: 403, body, agentCode: "mfa_required" })).toMatchObject({
    code: "mfa_required",
    message: "Kubernetes cluster prod needs a one-time code for each session",
  });
});

const place = { where: "shop/web-1", hasCommand: false };

test.for([
  [undefined, { reason: "the connection to shop/web-1 was lost" }],
  [{ code: 0 }, { status: 0 }],
  [{ code: 2 }, { status: 2 }],
  [{ code: 137 }, { status: 137, reason: expect.stringContaining("killed") }],
  [{ error: "" }, { reason: "the connection to shop/web-1 was lost" }],
  [{ error: "idle for 5 m." }, { reason: "idle for 5 m" }],
  [{ error: 'exec: "sh": executable file not found in $PATH' }, { reason: expect.stringContaining("no shell") }],
] as const)("%o is reported as %o", ([exit, end]) => {
  expect(shellEnd(exit, place)).toEqual(end);
});

test("a program that the user named and that is not there is no missing shell", () => {
  expect(shellEnd({ error: 'exec: "x": executable file not found in $PATH' }, { ...place, hasCommand: true })).toEqual({
    reason: "the container does not have this program",
  });
});
