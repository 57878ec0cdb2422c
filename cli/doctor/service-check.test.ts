import { describe, expect, test } from "vitest";
import { createLog } from "../../core/log/log.ts";
import { judgeService, lastError, type UnitFacts } from "./service-check.ts";

describe("the last error in a journal", () => {
  test.for(["text", "json"] as const)("the last error of a log in %s is found", (format) => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format, write: (line) => lines.push(line) });
    log.error("an older one");
    log.error("ended by a fault", { reason: "no room" });
    log.info("stopped");
    expect(lastError(lines.join(""))).toContain("ended by a fault");
  });

  test("so is what a program prints before it ends; a log without any has none", () => {
    expect(lastError("x\nERROR: joining failed: the join token is not known\nmake one\nplatform.service: Failed\n")).toBe(
      "joining failed: the join token is not known",
    );
    expect([lastError(""), lastError("2026 INFO the word ERROR inside\n")]).toEqual([undefined, undefined]);
  });
});

describe("the judgement of the service", () => {
  const running: UnitFacts = { name: "platform", active: "active", sub: "running", file: "enabled", restarts: 0, statusText: "1.0.0: 2 sessions" };
  const env = { HTTPS_PROXY: "http://u:hunter2@p:1" };
  const path = "/etc/default/platform";

  test.for<readonly [what: string, unit: Partial<UnitFacts>, warning: RegExp | undefined]>([
    ["all is well", { environment: env }, undefined],
    ["what cannot be seen is not minded", {}, undefined],
    ["while it is reloaded", { active: "reloading" }, undefined],
    ["not at the next boot", { file: "disabled" }, /systemctl enable platform/],
    ["it was started again", { restarts: 3, lastError: "no room" }, /again, 3 times; its last error: no room/],
    ["a reload failed", { statusText: "1.0.0: 2 sessions; last reload failed: /etc/platform.yaml:3: x" }, /^the last reload failed: \/etc\/platform/],
    [
      "the file has a proxy that the process has not",
      { environment: {} },
      /another HTTPS_PROXY than \/etc\/default\/platform has now: systemctl restart/,
    ],
    ["and the other way round", { environment: { ...env, no_proxy: "x" } }, /another no_proxy than/],
  ])("%s", ([, change, warning]) => {
    const said = judgeService({ ...running, ...change }, env, path);
    expect(said.says).toBe("platform runs");
    if (warning === undefined) expect(said.warning).toBeUndefined();
    else expect(said.warning).toMatch(warning);
    expect(JSON.stringify(said)).not.toContain("hunter2");
  });

  test.for<readonly [what: string, unit: Partial<UnitFacts>, says: RegExp, hint: RegExp]>([
    ["stopped", { active: "inactive", sub: "dead" }, /^platform does not run \(inactive, dead, enabled\)$/, /enable --now/],
    [
      "restarted for ever",
      { active: "activating", sub: "auto-restart", restarts: 7, lastError: "the join token is not known" },
      /^platform ends again and again \(started 7 times\); its last error: the join token is not known$/,
      /journalctl -u platform/,
    ],
    ["given up", { active: "failed", sub: "failed", lastError: "x" }, /does not run \(failed, failed, enabled\); its last error: x/, /enable --now/],
  ])("a service that is %s is a failure", ([, change, says, hint]) => {
    const failure = { code: "unavailable", message: expect.stringMatching(says), hint: expect.stringMatching(hint) };
    expect(() => judgeService({ ...running, ...change }, env, path)).toThrow(expect.objectContaining(failure));
  });
});
