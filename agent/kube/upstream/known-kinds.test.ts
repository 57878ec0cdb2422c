import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ApiRequest } from "./api-server.ts";
import { KnownKinds } from "./known-kinds.ts";

const things = (namespaced: boolean) => ({ resources: [{ name: "things", namespaced, verbs: namespaced ? ["deletecollection"] : [] }] });

/** The kinds of an API server with these documents by path, whose clock is `now`; `answers` holds answers back. */
function kindsOf(documents: Record<string, object | undefined>) {
  const world = { now: 0, asked: [] as string[], status: 200, answered: Promise.resolve() };
  const send = async ({ target }: ApiRequest) => {
    world.asked.push(target);
    await world.answered;
    const document = documents[target];
    const body = Readable.from([Buffer.from(JSON.stringify(document ?? {}))]);
    const status = document === undefined ? 404 : world.status;
    return { status, message: "", headers: [], body, hasBody: true, trailers: () => [], isBroken: () => false };
  };
  return Object.assign(world, { kinds: new KnownKinds({ send }, () => world.now) });
}

test("a list that is older than five minutes is read again while the known one is used; a failure leaves it", async () => {
  const documents: Record<string, object | undefined> = { "/apis/a.test/v1": things(true) };
  const world = kindsOf(documents);
  const { kinds } = world;
  const find = () => kinds.table.find("a.test/v1", "things");
  await kinds.read("a.test/v1");
  documents["/apis/a.test/v1"] = things(false);
  world.now = 299_999;
  kinds.refresh("a.test/v1");
  expect(world.asked).toHaveLength(1);
  world.now = 300_000;
  world.status = 503;
  kinds.refresh("a.test/v1");
  kinds.refresh("a.test/v1");
  expect(world.asked).toHaveLength(2);
  await kinds.read("a.test/v1").catch(() => {});
  expect(find()).toMatchObject({ isNamespaced: true, hasCollectionDelete: true });
  world.status = 200;
  world.now = 600_000;
  const held = Promise.withResolvers<void>();
  world.answered = held.promise;
  kinds.refresh("a.test/v1");
  expect(find()).toMatchObject({ isNamespaced: true });
  held.resolve();
  // Waits for the one that is under way.
  await kinds.read("a.test/v1");
  expect(find()).toMatchObject({ isNamespaced: false, hasCollectionDelete: false });
  expect(world.asked).toHaveLength(3);
});

test("all versions of a group are read, once for all that wait, and none under a name that no group has", async () => {
  const versions = [{ version: "v1" }, { version: "v1beta1" }, { version: "../../v1" }];
  const world = kindsOf({
    "/apis/a.test": { versions },
    "/apis/a.test/v1": { resources: [] },
    "/apis/a.test/v1beta1": things(true),
    "/api/v1": things(false),
  });
  await Promise.all([world.kinds.readGroup("a.test"), world.kinds.readGroup("a.test")]);
  expect(world.asked.toSorted()).toEqual(["/apis/a.test", "/apis/a.test/v1", "/apis/a.test/v1beta1"]);
  expect(world.kinds.table.inGroup("a.test", "things")).toMatchObject({ isNamespaced: true });
  world.asked.length = 0;
  for (const name of ["../api", "a/b", "a?b", "A", "", "none.test"]) await world.kinds.readGroup(name);
  expect(world.asked).toEqual(["/api/v1", "/apis/none.test"]);
});
