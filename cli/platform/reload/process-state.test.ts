import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { ProcessState, processSchema } from "./process-state.ts";

test("a failed reload is remembered in one line until one succeeds, and the cluster is notified of each change", () => {
  const state = new ProcessState(["proxy"], "main", { config: "/etc/platform.yaml", data_dir: "/var/lib/platform" });
  let told = 0;
  state.reportControl({
    state: () => ({ cluster: "c", tunnels: 0, sessions: 0 }),
    certificates: () => [{ file: "/a.pem", names: [], until: "2026-01-01T00:00:00.000Z" }],
    tellSoon: () => {
      told += 1;
    },
    hosts: () => [],
    expect: () => {},
    metrics: async () => "",
  });
  expect(state.facts()).toMatchObject({ config: "/etc/platform.yaml", data_dir: "/var/lib/platform", web_certificates: [{ file: "/a.pem" }] });
  expect(state.facts()).not.toHaveProperty("failed_reload");
  const at = "2026-01-02T00:00:00.000Z";
  state.reload = { state: "failed", error: `/etc/platform.yaml:3: a\n/etc/platform.yaml:4: b${"x".repeat(2000)}`, at };
  const failed = { at, error: expect.stringMatching(/^\/etc\/platform\.yaml:3: a; \/etc\/platform\.yaml:4: bx/) };
  expect(state.facts().failed_reload).toEqual(failed);
  expect(state.failedReload?.error).toHaveLength(1000);
  state.reload = { state: "starting" };
  expect(state.failedReload).toEqual(failed);
  state.reload = { state: "done" };
  expect(state.failedReload).toBeUndefined();
  expect(told).toBe(3);
});

test("a process that is not connected reports its agent's last error", () => {
  const state = new ProcessState(["ssh"], "standby");
  const agent = { hostId: "h", cluster: "c", tunnels: 0, sessions: 0, connected: false };
  state.reportAgent({ state: () => agent });
  expect(state.facts()).not.toHaveProperty("problem");
  const problem = new PlatformError("unavailable", `could not resolve proxy.test${"x".repeat(2000)}`);
  state.reportAgent({ state: () => ({ ...agent, problem }) });
  expect(processSchema.parse(JSON.parse(JSON.stringify(state.facts()))).problem).toEqual({
    error: problem.message.slice(0, 1000),
    code: "unavailable",
  });
  expect(processSchema.parse({ ...state.facts(), problem: { error: "x", code: "of a later version" } }).problem).toEqual({ error: "x" });
});

test.for([[["ssh"]], [["app"]], [["auth", "proxy", "app"]]] as const)(
  "a process with the services %j is ready with its agent's tunnel only",
  ([services]) => {
    const state = new ProcessState(services, "main");
    state.serves();
    expect(state.isReady).toBe(false);
    state.reportAgent({ state: () => ({ hostId: "h", cluster: "c", tunnels: 1, sessions: 0, connected: true }) });
    expect(state.isReady).toBe(true);
  },
);
