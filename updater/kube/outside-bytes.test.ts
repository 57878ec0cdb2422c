import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { workloadOfEvent } from "./cluster/kube-cluster.ts";
import { parsePod, podFault } from "./cluster/kube-pod.ts";
import { parseSharedState } from "./cluster/shared-state.ts";
import { parseWorkload } from "./cluster/workload.ts";
import { parseImage, tagOfVersion, versionOfImage } from "./images/image-reference.ts";
import { calmFacts, calmWorkload, signed, wants } from "./testing/update-facts.ts";
import { decideUpdate } from "./update/decide-update.ts";
import { encodeMemory, memoryAnnotation, parseMemory } from "./update/update-memory.ts";
import { encodeStatus, isNews } from "./update/update-status.ts";

/** Objects with the names that are read, and anything as their values. */
const names = [
  "kind",
  "metadata",
  "spec",
  "status",
  "annotations",
  "containers",
  "template",
  "conditions",
  "containerStatuses",
  "state",
  "waiting",
  "name",
];
const object = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.jsonValue(),
    fc.constantFrom("StatefulSet", "Deployment", "platform", "Ready"),
    tie("record"),
    fc.array(tie("record"), { maxLength: 3 }),
  ),
  record: fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 6 }),
})).record;

test("any object of the API server is a workload or a pod, or is none", () => {
  fc.assert(
    fc.property(object, fc.nat(), (value, now) => {
      const workload = parseWorkload(value, "platform");
      if (workload !== undefined) expect(workload.image).not.toBe("");
      const pod = parsePod(value, "platform");
      if (pod !== undefined) expect(["pull", "crash", "start", "unready", undefined]).toContain(podFault(pod, now));
      workloadOfEvent(JSON.stringify(value), "platform");
    }),
  );
});

test("any text is an event without a workload", () => {
  fc.assert(fc.property(fc.string(), (line) => void workloadOfEvent(line, "platform")));
});

test("any annotation is a memory, and a written one is read as it was", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const { memory } = parseMemory(text);
      expect(parseMemory(encodeMemory(memory))).toEqual({ memory, isDamaged: false });
    }),
  );
  expect(parseMemory("[]").isDamaged).toBe(true);
  expect(parseMemory('{"update":{"phase":"dancing"}}')).toEqual({ memory: { skip: [], undone: [] }, isDamaged: true });
  expect(parseMemory(undefined)).toEqual({ memory: { skip: [], undone: [] }, isDamaged: false });
});

test("whatever the Secret holds, it opens only windows that it names", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("agent-maintenance-schedule", "agent-authorities", "agent-host.agent-0"), fc.string()), (data) => {
      const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
      for (const one of [parseSharedState(data), parseSharedState(encoded)]) {
        expect(one.schedule.windows).toEqual([]);
        expect(one.authorities.every((line) => line.startsWith("ssh-ed25519 "))).toBe(true);
      }
    }),
  );
  const secret = (text: string) => parseSharedState({ "agent-maintenance-schedule": Buffer.from(text).toString("base64") }).schedule;
  expect(secret('{"windows":[{"start":"2026-11-24T02:00:00Z","stop":"2026-11-24T03:00:00Z"}]}')).toEqual({
    windows: [{ start: 1_795_485_600, stop: 1_795_489_200 }],
    unreadable: 0,
  });
  expect(
    secret('{"windows":[{"start":"tomorrow","stop":"2026-11-24T03:00:00Z"},{"start":"2026-11-24T03:00:00Z","stop":"2026-11-24T02:00:00Z"}]}'),
  ).toEqual({
    windows: [],
    unreadable: 2,
  });
  expect(secret("{")).toEqual({ windows: [], unreadable: 1 });
  expect(secret("")).toEqual({ windows: [], unreadable: 0 });
});

test.for([
  ["platform-ent:1.2.3", "docker.io", "library/platform-ent", "1.2.3"],
  ["acme/platform-ent:1.2.3", "docker.io", "acme/platform-ent", "1.2.3"],
  ["localhost/platform:1.2.3", "localhost", "platform", "1.2.3"],
  ["10.0.0.1:5000/a/b/c:1.2.3-rc.1", "10.0.0.1:5000", "a/b/c", "1.2.3-rc.1"],
  [`r.example.com/p:1.2.3@sha256:${"a".repeat(64)}`, "r.example.com", "p", "1.2.3"],
  ["[fd00::1]:5000/p:v1.2.3", "[fd00::1]:5000", "p", "1.2.3"],
  ["r.example.com:443/p", "r.example.com:443", "p", undefined],
  ["r.example.com/p:latest", "r.example.com", "p", undefined],
] as const)("%s is %s, %s in version %s", ([text, registry, repository, version]) => {
  expect(parseImage(text)).toMatchObject({ registry, repository });
  expect(versionOfImage(text)).toBe(version);
});

test.for([
  "",
  ":",
  "@",
  "a:",
  "a@sha256:1",
  "A/b:1",
  "r.example.com/:1",
  "r.example.com/../p:1",
  "http://r/p:1",
  "p:1:2",
  "a b:1",
  "r.example.com/p%2f:1",
  `p:${"1".repeat(600)}`,
])("%j is not an image", (text) => {
  expect(parseImage(text)).toBeUndefined();
});

test("any text is an image with a name of its own, or is none", () => {
  const letters = fc.constantFrom(...'abz09./:@-_[]%\\ "');
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: letters })), (text) => {
      const image = parseImage(text);
      if (image === undefined) return;
      expect(text.startsWith(image.name)).toBe(true);
      expect(parseImage(image.name)).toMatchObject({ registry: image.registry, repository: image.repository });
      expect(`/v2/${image.repository}/manifests/x`).toMatch(/^\/v2\/[a-z0-9._/-]+\/manifests\/x$/);
    }),
  );
  expect(tagOfVersion("1.0.0+b")).toBe("1.0.0_b");
});

test("a status is written again when it says something else, or is old", () => {
  const status = { reason: "up_to_date", detail: "fine", channel: "default", updater_version: "1", at: "2026-11-24T00:00:00.000Z" } as const;
  const text = encodeStatus(status);
  expect(isNews(status, text)).toBe(false);
  expect(isNews({ ...status, at: "2026-11-24T00:24:00.000Z" }, text)).toBe(false);
  expect(isNews({ ...status, at: "2026-11-24T00:25:00.000Z" }, text)).toBe(true);
  expect(isNews({ ...status, detail: "other" }, text)).toBe(true);
  expect(isNews(status, undefined)).toBe(true);
  fc.assert(fc.property(fc.string(), (other) => void isNews(status, other)));
});

test("whatever the facts, no decision lowers a version without a signature, raises it above the proxy, or acts on a suspended workload", () => {
  const version = fc.tuple(fc.nat(3), fc.nat(3)).map(([major, minor]) => `${major}.${minor}.0`);
  const facts = fc.record({
    current: version,
    to: version,
    proxy: version,
    isSigned: fc.boolean(),
    critical: fc.boolean(),
    now: fc.integer({ min: 0, max: 3000 }),
    ready: fc.constantFrom(3, 3, 3, 3, 2, 0),
    updated: fc.constantFrom(3, 3, 3, 3, 2, 0),
    isObserved: fc.constantFrom(true, true, true, false),
    annotations: fc.dictionary(fc.constantFrom("platform.dev/skipreconcile", memoryAnnotation), fc.constantFrom("true", "false", "{}")),
  });
  let updates = 0;
  fc.assert(
    fc.property(facts, ({ current, to, proxy, isSigned, critical, now, ...rest }) => {
      const name = "registry.example.com/p";
      const workload = calmWorkload({ ...rest, image: `${name}:${current}` });
      const wanted = wants(to, { proxy, critical, ...(isSigned && { proof: signed(critical) }) });
      const image = { name: `${name}:${to}`, verdict: { kind: "good", digest: `sha256:${"e".repeat(64)}` } } as const;
      const decision = decideUpdate(calmFacts({ workload, wanted, now, image }));
      if (decision.act === "stay" || decision.act === "delete_pod") return;
      expect(decision.act).toBe("update");
      updates += 1;
      expect(rest.annotations["platform.dev/skipreconcile"]).not.toBe("true");
      expect(rest.isObserved).toBe(true);
      expect(Number(to[0])).toBeLessThanOrEqual(Number(proxy[0]));
      expect(to > current || (isSigned && to < current)).toBe(true);
      expect(critical || (now >= 1000 && now < 2000)).toBe(true);
    }),
    { numRuns: someRuns(2000) },
  );
  expect(updates).toBeGreaterThan(2);
});
