import { expect, test } from "vitest";
import type { WholeResponse } from "../../http/exchange.ts";
import { deleteCollection } from "./delete-collection.ts";

const place = { group: "", version: "v1", resource: "pods", namespace: "a" };

/** Pages with one object each, which is there or not. */
function pages(names: readonly string[]) {
  const deleted: string[] = [];
  const answer = (status: number, object: object): WholeResponse => ({
    head: { status, message: "", headers: [] },
    body: Buffer.from(JSON.stringify(object)),
  });
  const road = {
    list: async (target: string): Promise<WholeResponse> => {
      const at = Number(new URL(target, "http://api").searchParams.get("continue") ?? 0);
      const items = names.slice(at, at + 1).map((name) => ({ metadata: { name, namespace: "a" } }));
      return answer(200, { kind: "PodList", metadata: at + 1 < names.length ? { continue: String(at + 1) } : {}, items });
    },
    deleteOne: async (name: string): Promise<WholeResponse> => {
      deleted.push(name);
      return answer(200, {});
    },
  };
  return { road, deleted };
}

const deletion = { place, query: new Map<string, readonly string[]>(), mayDelete: (_: string, name: string) => name.startsWith("web-") };
const names = ["web-1", "db-1", "web-2", "web-3"];

test.each([
  ["objects", { pages: 9, objects: 2 }, ["web-1", "web-2"]],
  ["pages", { pages: 3, objects: 9 }, ["web-1", "web-2"]],
])("no more %s than the limit are taken, and the client reads that some are left", async (_, most, expected) => {
  const { road, deleted } = pages(names);
  await expect(deleteCollection(deletion, road, most)).rejects.toMatchObject({ code: "limit" });
  expect(deleted).toEqual(expected);
});

test("a client that asks for one page gets that one", async () => {
  const { road, deleted } = pages(names);
  expect(await deleteCollection({ ...deletion, query: new Map([["limit", ["1"]]]) }, road)).toMatchObject({ head: { status: 200 } });
  expect(deleted).toEqual(["web-1"]);
});

test("the limits themselves are enough", async () => {
  const { road, deleted } = pages(names);
  expect(await deleteCollection(deletion, road, { pages: 4, objects: 3 })).toMatchObject({ head: { status: 200 } });
  expect(deleted).toEqual(["web-1", "web-2", "web-3"]);
});
