import { expect, test } from "vitest";
import { parsePod, podFault } from "./kube-pod.ts";

const pod = (state: object) => ({
  metadata: { name: "agent-0" },
  status: {
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" }],
    containerStatuses: [{ name: "platform", restartCount: 0, state }],
  },
});

test("a pod that has waited for its image counts as not ready from the start of its program on", () => {
  const began = Date.parse("2026-01-01T01:00:00Z") / 1000;
  const found = parsePod(pod({ running: { startedAt: "2026-01-01T01:00:00Z" } }), "platform");
  if (found === undefined) throw new Error("it is a pod");
  expect([podFault(found, began + 299), podFault(found, began + 300)]).toEqual([undefined, "unready"]);
});

test("a pod that waits for another container, or for a failing init container, has no fault of its own; beside a failing sidecar it may have", () => {
  const statuses = (own: object, more: object = {}) => ({
    ...pod({}),
    status: {
      ...pod({}).status,
      containerStatuses: [
        { name: "proxy", ready: false },
        { name: "platform", restartCount: 5, ...own },
      ],
      ...more,
    },
  });
  const ready = statuses({ ready: true, state: { running: {} }, lastState: { terminated: { exitCode: 1 } } });
  const initializing = statuses(
    { ready: false, state: { waiting: { reason: "PodInitializing" } } },
    { initContainerStatuses: [{ name: "mesh", state: { waiting: { reason: "CrashLoopBackOff" } } }] },
  );
  const late = Date.parse("2026-01-02T00:00:00Z") / 1000;
  for (const [value, why] of [
    [ready, "container proxy is not ready"],
    [initializing, "init container mesh fails"],
  ] as const) {
    const found = parsePod(value, "platform");
    expect(found).toMatchObject({ isHeld: true, fault: undefined, why });
    expect(found && podFault(found, late)).toBeUndefined();
  }
  const sidecar = { initContainerStatuses: [{ name: "mesh", state: { waiting: { reason: "CrashLoopBackOff" } } }] };
  const crashing = parsePod(statuses({ ready: false, state: { waiting: { reason: "CrashLoopBackOff" } } }, sidecar), "platform");
  expect(crashing).toMatchObject({ isHeld: false, fault: "crash" });
  expect(crashing && podFault(crashing, late)).toBe("crash");
});
