import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import type { ClusterProxy } from "../../core/resources/proxy.ts";
import { followProxies, readList } from "./follow-proxies.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-proxies-"));
});
afterAll(async () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

const proxy = (id: number): ClusterProxy => ({
  id: `00000000-0000-4000-8000-00000000000${id}`,
  name: `p${id}`,
  addr: `p${id}.example.com:443`,
  since: "2026-01-01T00:00:00Z",
});

function world(file = join(folder, `${Math.random()}.json`)) {
  const state = { revision: "1", proxies: [proxy(1)] as readonly ClusterProxy[], asked: 0, fails: false };
  const lists: string[][] = [];
  const client = async () => ({
    listProxies: async () => {
      state.asked += 1;
      if (state.fails) throw new Error("away");
      return {
        $typeName: "platform.auth.v1.ListProxiesResponse" as const,
        revision: state.revision,
        proxiesJson: state.proxies.map((one) => JSON.stringify(one)),
      };
    },
  });
  const onList = (all: readonly ClusterProxy[]): void => void lists.push(all.map(({ name }) => name));
  const follower = followProxies({ client, log: silentLog, onList, file, spreadMs: 0 }, new AbortController().signal);
  return { state, lists, follower, file };
}

test("an unknown revision is fetched, a known one is not", async () => {
  const { state, lists, follower, file } = world();
  follower.announced("1");
  await expect.poll(() => lists).toEqual([["p1"]]);
  follower.announced("1");
  Object.assign(state, { revision: "2", proxies: [proxy(1), proxy(2)] });
  follower.announced("2");
  await expect.poll(() => lists).toEqual([["p1"], ["p1", "p2"]]);
  expect(state.asked).toBe(2);
  await expect.poll(async () => (await readList(file)).map(({ name }) => name)).toEqual(["p1", "p2"]);
});

test("a stale proxy that keeps reporting an old revision causes one request", async () => {
  const { state, follower } = world();
  follower.announced("1");
  await expect.poll(() => state.asked).toBe(1);
  for (let count = 0; count < 5; count += 1) {
    follower.announced("0");
    await expect.poll(() => state.asked).toBe(2);
  }
});

test("an unreachable auth service is asked again at the next report; an older proxy reports nothing", async () => {
  const { state, lists, follower } = world();
  state.fails = true;
  follower.announced("");
  follower.announced("1");
  await expect.poll(() => state.asked).toBe(1);
  state.fails = false;
  await expect
    .poll(() => {
      follower.announced("1");
      return lists;
    })
    .toEqual([["p1"]]);
});

test("an unreadable file is not a list", async () => {
  expect(await readList(join(folder, "none.json"))).toEqual([]);
});
