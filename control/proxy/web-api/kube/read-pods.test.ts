import fc from "fast-check";
import { expect, test } from "vitest";
import { listedPodSchema } from "../../../../core/api/web/pods.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type AskedPart, type ListPart, readNamespaces, readPods } from "./read-pods.ts";

const asked = { cluster: "prod", most: 100 };

const one = (metadata: object, status: object, spec: object = { containers: [{ name: "app", image: "a" }] }) => ({
  metadata: { continue: "" },
  items: [{ metadata: { name: "web-1", namespace: "shop", ...metadata }, spec, status }],
});

test.for([
  ["its phase", {}, { phase: "Pending" }, "Pending"],
  ["nothing that is known", {}, {}, "Unknown"],
  ["its end", { deletionTimestamp: "2026-11-24T10:00:00Z" }, { phase: "Running" }, "Terminating"],
  [
    "the reason for which it waits",
    {},
    { phase: "Running", containerStatuses: [{ name: "app", state: { waiting: { reason: "CrashLoopBackOff" } } }] },
    "CrashLoopBackOff",
  ],
  [
    "the reason of its end",
    {},
    { phase: "Succeeded", containerStatuses: [{ name: "app", state: { terminated: { reason: "Completed" } } }] },
    "Completed",
  ],
] as const)("the state of a pod is %s", ([, metadata, status, state]) => {
  expect(readPods(one(metadata, status), asked).items[0]?.state).toBe(state);
});

test("containers for debugging are listed too, a pod without any has none, and an odd time is left out", () => {
  const spec = { containers: [{ name: "app" }], ephemeralContainers: [{ name: "debugger", image: "d" }] };
  const status = { phase: "Running", ephemeralContainerStatuses: [{ name: "debugger", state: { running: { startedAt: "x" } } }] };
  expect(readPods(one({ creationTimestamp: "yesterday" }, status, spec), asked).items).toEqual([
    {
      ...{ namespace: "shop", name: "web-1", state: "Running", node: "" },
      containers: [
        { name: "app", image: "", is_running: false },
        { name: "debugger", image: "d", is_running: true },
      ],
    },
  ]);
  expect(readPods(one({}, { phase: "Failed" }, { containers: null }), asked).items[0]?.containers).toEqual([]);
});

test("a part of a list has what asks for the next one", () => {
  expect(readNamespaces({ metadata: { continue: "c" }, items: [{ metadata: { name: "shop" } }] }, asked)).toEqual({ items: ["shop"], next: "c" });
  expect(readPods({ metadata: {}, items: null }, asked)).toEqual({ items: [], next: "" });
});

test("more objects than were asked for are refused with the cluster's name", () => {
  const pods = { metadata: {}, items: Array.from({ length: 101 }, () => one({}, {}).items[0]) };
  const many = { code: "unavailable", message: expect.stringMatching(/^Kubernetes cluster prod answered with 101 \S+ where 100 were asked for$/) };
  expect(() => readPods(pods, asked)).toThrow(expect.objectContaining(many));
  expect(() => readNamespaces(pods, asked)).toThrow(expect.objectContaining(many));
  expect(readPods({ ...pods, items: pods.items.slice(1) }, asked).items).toHaveLength(100);
});

test("of a pod with very many containers 100 are listed, the usual one first", () => {
  const containers = Array.from({ length: 1_000 }, (_, at) => ({ name: `c${at}` }));
  const containerStatuses = containers.map(({ name }) => ({ name, state: name === "c998" ? { running: {} } : {} }));
  const annotations = { "kubectl.kubernetes.io/default-container": "c998", other: "x" };
  const listed = readPods(one({ annotations }, { containerStatuses }, { containers }), asked).items[0]?.containers ?? [];
  expect(listed).toHaveLength(100);
  expect(listed.slice(0, 2)).toEqual([
    { name: "c998", image: "", is_running: true },
    { name: "c0", image: "", is_running: false },
  ]);
});

test("long texts and times are cut or left out", () => {
  const long = "a".repeat(1_000);
  const metadata = { name: long, creationTimestamp: `2026-11-24T10:00:00.${"1".repeat(1_000)}Z` };
  const pod = readPods(one(metadata, { phase: long }, { nodeName: long, containers: [{ name: long, image: long }] }), asked).items[0];
  expect(pod).toEqual({
    ...{ namespace: "shop", name: long.slice(0, 256), state: long.slice(0, 256), node: long.slice(0, 256) },
    containers: [{ name: long.slice(0, 256), image: long.slice(0, 256), is_running: false }],
  });
});

/** Answers that are nearly lists of pods. */
const odd = fc.anything({
  key: fc.constantFrom("metadata", "items", "spec", "status", "name", "namespace", "containers", "state", "running", "annotations", "phase"),
  maxDepth: 6,
});

/** What is listed; empty for an answer that is refused. */
function listedBy<T>(read: (answer: unknown, part: AskedPart) => ListPart<T>, answer: unknown): readonly T[] {
  try {
    return read(answer, asked).items;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(PlatformError);
    return [];
  }
}

test("any answer is read or refused, and what is read can be sent", () => {
  const items = fc.array(fc.record({ metadata: odd, spec: odd, status: odd }), { maxLength: 3 });
  fc.assert(
    fc.property(fc.oneof(odd, fc.record({ metadata: fc.constant({}), items })), (answer) => {
      for (const pod of listedBy(readPods, answer)) listedPodSchema.parse(pod);
      for (const name of listedBy(readNamespaces, answer)) expect(typeof name).toBe("string");
    }),
  );
});
