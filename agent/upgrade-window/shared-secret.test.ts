import fc from "fast-check";
import { expect, test } from "vitest";
import type { ApiRequest } from "../../core/kubernetes/kubernetes-api.ts";
import { encodeSchedule } from "../../core/versions/upgrade-schedule.ts";
import { readUpdateStatus, sharedSchedule, shareIdentity, workloadPath } from "./shared-secret.ts";

/** An API server with one Secret and one StatefulSet. */
function cluster(data: Record<string, string> | undefined = {}) {
  const world = { data, requests: [] as ApiRequest[], annotations: {} as Record<string, unknown>, status: 200 };
  const request = async (asked: ApiRequest) => {
    world.requests.push(asked);
    if (asked.method === "PATCH") Object.assign(world.data ?? {}, (asked.body as { data: object }).data);
    const body = asked.path.includes("/secrets/") ? { data: world.data } : { metadata: { annotations: world.annotations } };
    return { status: world.status, headers: {}, body: Buffer.from(JSON.stringify(body)) };
  };
  const place = {
    requests: { request, stream: () => Promise.reject(new Error("no")) },
    namespace: "ns",
    secret: "agent-shared-state",
    pod: "agent-0",
  };
  return { world, place };
}

const decoded = (data: Record<string, string> | undefined, key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString();
const text = encodeSchedule([{ start: 1_795_485_600, stop: 1_795_489_200 }]);

test("windows that are written are read as they were", async () => {
  const { world, place } = cluster();
  const schedule = sharedSchedule(place);
  expect(await schedule.read()).toBeUndefined();
  await schedule.write(text);
  // updater/kube/outside-bytes.test.ts reads the same text.
  expect(decoded(world.data, "agent-maintenance-schedule")).toBe('{"windows":[{"start":"2026-11-24T02:00:00Z","stop":"2026-11-24T03:00:00Z"}]}');
  expect(await schedule.read()).toBe(text);
  await schedule.write("");
  expect(await schedule.read()).toBe("");
  expect(decoded(world.data, "agent-maintenance-schedule")).toBe("");
});

test("anything else in the Secret is read as another schedule, and so is overwritten", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ minLength: 1 }), fc.json()), async (content) => {
      const { place } = cluster({ "agent-maintenance-schedule": Buffer.from(content).toString("base64") });
      expect(await sharedSchedule(place).read()).not.toBe(text);
    }),
  );
});

test("keys and id are written once, and again when they change", async () => {
  const { world, place } = cluster();
  expect(await shareIdentity(place, { keys: ["ssh-ed25519 AAAA"], hostId: "host-0" })).toBe(true);
  expect(await shareIdentity(place, { keys: ["ssh-ed25519 AAAA"], hostId: "host-0" })).toBe(false);
  expect([decoded(world.data, "agent-authorities"), decoded(world.data, "agent-host.agent-0")]).toEqual(["ssh-ed25519 AAAA\n", "host-0"]);
  expect(await shareIdentity(place, { keys: ["ssh-ed25519 BBBB"], hostId: "host-0" })).toBe(true);
  expect(world.requests.filter(({ method }) => method === "PATCH").map(({ contentType }) => contentType)).toEqual([
    "application/merge-patch+json",
    "application/merge-patch+json",
  ]);
});

test("a Secret that may not be read or written is an error with its reason", async () => {
  const { world, place } = cluster();
  world.status = 403;
  await expect(sharedSchedule(place).read()).rejects.toMatchObject({ code: "denied" });
  await expect(sharedSchedule(place).write(text)).rejects.toMatchObject({ code: "denied" });
});

test("the updater's result is the annotation of the workload that the chart names", async () => {
  const { world, place } = cluster();
  const path = workloadPath("statefulset/agent", "ns");
  expect(path).toBe("/apis/apps/v1/namespaces/ns/statefulsets/agent");
  expect(await readUpdateStatus(place.requests, path)).toBeUndefined();
  world.annotations = { "platform.dev/update-status": '{"reason":"up_to_date"}' };
  expect(await readUpdateStatus(place.requests, path)).toBe('{"reason":"up_to_date"}');
  for (const bad of ["", "agent", "pod/agent", "statefulset/../x", "statefulset/a/b"])
    expect(() => workloadPath(bad, "ns")).toThrow(expect.objectContaining({ code: "invalid" }));
});
