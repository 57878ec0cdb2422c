import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isActive, parseAgentStatus, parseUnitState } from "./agent-status.ts";

const full = {
  pid: 12,
  version: "1.1.0",
  host_id: "c0ffee",
  cluster: "example",
  started: "2026-11-20T16:00:00Z",
  ready: true,
  services: ["ssh"],
  tunnels: 1,
  sessions: 2,
  draining: [{ pid: 10, sessions: 3, since: "2026-11-20T16:00:00Z" }],
  reload: { state: "failed", pid: 13, version: "1.1.0", error: "exit\nstatus 1", code: "invalid", at: "2026-11-20T16:00:01Z" },
  config: "/etc/platform.yaml",
};

describe("the status of the agent", () => {
  test("is read", () => {
    expect(parseAgentStatus(JSON.stringify(full))).toEqual({
      pid: 12,
      version: "1.1.0",
      hostId: "c0ffee",
      config: "/etc/platform.yaml",
      ready: true,
      services: ["ssh"],
      sessions: 2,
      draining: [{ sessions: 3 }],
      reload: { state: "failed", version: "1.1.0", error: "exit status 1", code: "invalid", at: Date.parse("2026-11-20T16:00:01Z") },
    });
  });

  test.for([undefined, null, 2, "enchanted", "toString"])("knows no error's code by %o", (code) => {
    const { reload } = parseAgentStatus(JSON.stringify({ ...full, reload: { ...full.reload, code } })) ?? {};
    expect(reload).toEqual({ state: "failed", version: "1.1.0", error: "exit status 1", at: Date.parse("2026-11-20T16:00:01Z") });
  });

  test("has the reason why it is not connected, and whether that is why a reload failed", () => {
    const problem = { error: "could not connect to\nproxy.test:443", code: "unavailable" };
    const reload = { state: "failed", error: "it was not ready", code: "unavailable", disconnected: true };
    expect(parseAgentStatus(JSON.stringify({ pid: 1, version: "1.1.0", problem, reload }))).toMatchObject({
      problem: "could not connect to proxy.test:443",
      reload: { code: "unavailable", disconnected: true },
    });
  });

  test("needs no more than a process and its version", () => {
    const least = { pid: 1, version: "1.0.0", ready: false, services: [], sessions: 0, draining: [], reload: { state: "none" } };
    expect(parseAgentStatus('{"pid":1,"version":"1.0.0"}')).toEqual(least);
  });

  test.for(["", "null", "[]", "{}", '{"pid":1}', '{"pid":-1,"version":"1"}', '{"pid":"1","version":"1"}', "<html>"])("is not %j", (text) => {
    expect(parseAgentStatus(text)).toBeUndefined();
  });

  test("is bounded, and read safely from any input", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(full)), fc.jsonValue()), (fields) => {
        const status = parseAgentStatus(JSON.stringify({ pid: 1, version: "1.0.0", ...fields }));
        if (status === undefined) return;
        expect(status.services.length).toBeLessThanOrEqual(64);
        expect(status.reload.error ?? "").not.toContain("\n");
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => void parseAgentStatus(text)));
  });
});

test("the unit's state is read from the output of systemctl", () => {
  const text = "MainPID=812\nNRestarts=2\nActiveState=active\nSubState=running\nUnitFileState=enabled\n";
  expect(parseUnitState(text)).toEqual({ activeState: "active", subState: "running", unitFileState: "enabled", mainPid: 812, restarts: 2 });
});

test.for([
  ["1", "2", 2],
  ["1", "0", 0],
  ["2", "9", undefined],
  ["0", "0", undefined],
] as const)("ExecMainCode=%s and ExecMainStatus=%s: exit status %s", ([code, status, exitStatus]) => {
  expect(parseUnitState(`MainPID=0\nExecMainCode=${code}\nExecMainStatus=${status}\n`).exitStatus).toBe(exitStatus);
});

test.for([
  ["0", undefined],
  ["812", 812],
] as const)("ExecMainPID=%s: last process %s", ([pid, lastPid]) => {
  expect(parseUnitState(`MainPID=0\nExecMainPID=${pid}\n`).lastPid).toBe(lastPid);
});

test("a missing unit is inactive", () => {
  const state = parseUnitState("MainPID=0\nActiveState=inactive\nSubState=dead\nUnitFileState=\n");
  expect(isActive(state)).toBe(false);
  expect(parseUnitState("")).toEqual({ activeState: "inactive", subState: "dead", unitFileState: "", mainPid: 0, restarts: 0 });
});

test.for([
  ["active", true],
  ["reloading", true],
  ["activating", true],
  ["deactivating", false],
  ["failed", false],
  ["inactive", false],
] as const)("%s counts as running: %s", ([activeState, active]) => {
  expect(isActive(parseUnitState(`ActiveState=${activeState}\n`))).toBe(active);
});
