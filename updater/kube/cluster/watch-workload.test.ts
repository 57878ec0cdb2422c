import { expect, test } from "vitest";
import type { ApiRequest } from "../../../core/kubernetes/kubernetes-api.ts";
import { silentLog } from "../../../core/log/log.ts";
import { FakeStatefulSet } from "../testing/fake-stateful-set.ts";
import { statusAnnotation } from "../update/update-memory.ts";
import { watchWorkload } from "./watch-workload.ts";
import { parseWorkload, type Workload } from "./workload.ts";

/** Watches, each from a script of lines; each ends after its script. */
function watched(scripts: readonly (readonly string[] | number)[], set = new FakeStatefulSet({ qualities: {}, replicas: 1, now: () => 0 })) {
  const paths: string[] = [];
  const stop = new AbortController();
  const world = { changes: 0, reads: 0 };
  const stream = async ({ path }: ApiRequest & { readonly signal: AbortSignal }) => {
    const script = scripts[paths.length];
    paths.push(path);
    if (script === undefined) stop.abort();
    if (typeof script === "number") return { status: script, body: (async function* () {})() };
    return {
      status: 200,
      body: (async function* () {
        for (const line of script ?? []) yield Buffer.from(`${line}\n`);
      })(),
    };
  };
  const workload = async (): Promise<Workload> => {
    world.reads += 1;
    const found = parseWorkload(set.object(), "platform");
    if (found === undefined) throw new Error("no workload");
    return found;
  };
  const options = {
    cluster: { workload, watchPath: () => "/watch?x" },
    requests: { stream, request: () => Promise.reject(new Error("not used")) },
    container: "platform",
    log: silentLog,
    changed: () => {
      world.changes += 1;
    },
    random: () => -0.5,
  };
  return { paths, world, set, run: async () => await watchWorkload(options, stop.signal) };
}

const event = (type: string, set: FakeStatefulSet): string => JSON.stringify({ type, object: set.object() });

test("the workload as found and each change of others are reported; bookmarks and the updater's own notes are not", async () => {
  const set = new FakeStatefulSet({ qualities: {}, replicas: 1, now: () => 0 });
  const lines = [event("MODIFIED", set), '{"type":"BOOKMARK","object":{"kind":"StatefulSet"}}'];
  set.annotate(statusAnnotation, "{}");
  lines.push(event("MODIFIED", set));
  set.annotate("debug.platform.dev/trigger-event", "1");
  lines.push(event("MODIFIED", set));
  const before = new FakeStatefulSet({ qualities: {}, replicas: 1, now: () => 0 });
  const { run, world, paths } = watched([lines], before);
  await run();
  // As found, the trigger, and as found again by the second watch.
  expect(world.changes).toBe(3);
  expect(paths[0]).toContain("/watch?x&watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=1");
});

test("a watch that has run out (410), an error and an answer that is none read the workload again", async () => {
  const gone = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}';
  const { run, world, paths } = watched([[gone], 410, 500, ["nonsense"], []]);
  await run();
  expect(paths).toHaveLength(6);
  expect(world.reads).toBe(6);
  // As found, gone with a line that is none, and found again.
  expect(world.changes).toBe(3);
});
