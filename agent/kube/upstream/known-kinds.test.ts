import { expect, test, vi } from "vitest";
import { type Documents, kindsOf } from "./testing/kinds-of.ts";

const things = (namespaced: boolean) => ({ resources: [{ name: "things", namespaced, verbs: namespaced ? ["deletecollection"] : [] }] });

test("a list that is older than five minutes is read again while the known one is used; a failure leaves it", async () => {
  const documents: Documents = { "/apis/a.test/v1": things(true) };
  const world = kindsOf(documents);
  const { kinds } = world;
  const find = () => kinds.table.find("a.test/v1", "things");
  await kinds.read("a.test/v1");
  documents["/apis/a.test/v1"] = things(false);
  world.now = 299_999;
  void kinds.refresh("a.test/v1");
  expect(world.asked).toHaveLength(1);
  world.now = 300_000;
  world.down.push("/apis/a.test/v1");
  void kinds.refresh("a.test/v1");
  void kinds.refresh("a.test/v1");
  expect(world.asked).toHaveLength(2);
  await kinds.read("a.test/v1").catch(() => {});
  expect(find()).toMatchObject({ isNamespaced: true, hasCollectionDelete: true });
  world.down.length = 0;
  world.now = 600_000;
  const held = Promise.withResolvers<void>();
  world.answered = held.promise;
  void kinds.refresh("a.test/v1");
  expect(find()).toMatchObject({ isNamespaced: true });
  held.resolve();
  // Waits for the one that is under way.
  await kinds.read("a.test/v1");
  expect(find()).toMatchObject({ isNamespaced: false, hasCollectionDelete: false });
  expect(world.asked).toHaveLength(3);
});

test("a list that is older than ten minutes is waited for", async () => {
  const documents: Documents = { "/apis/a.test/v1": things(true) };
  const world = kindsOf(documents);
  await world.kinds.read("a.test/v1");
  documents["/apis/a.test/v1"] = things(false);
  world.now = 600_001;
  await world.kinds.refresh("a.test/v1");
  expect(world.kinds.table.find("a.test/v1", "things")).toMatchObject({ isNamespaced: false });
  world.now += 600_000;
  expect(world.kinds.refresh("a.test/v1")).toBeUndefined();
});

test("all versions of a group are read, once for all that wait, and none under a name that no group has", async () => {
  const versions = [{ version: "v1" }, { version: "v1beta1" }, { version: "../../v1" }];
  const world = kindsOf({
    "/apis": { groups: [{ name: "a.test", versions }] },
    "/apis/a.test/v1": { resources: [] },
    "/apis/a.test/v1beta1": things(true),
    "/api/v1": things(false),
  });
  await Promise.all([world.kinds.readGroup("a.test"), world.kinds.readGroup("a.test")]);
  expect(world.asked.toSorted()).toEqual(["/apis", "/apis/a.test/v1", "/apis/a.test/v1beta1"]);
  expect(world.kinds.table.inGroup("a.test", "things")).toMatchObject({ isNamespaced: true });
  world.asked.length = 0;
  for (const name of ["../api", "a/b", "a?b", "A", "", "none.test"]) await world.kinds.readGroup(name);
  expect(world.asked).toEqual(["/api/v1"]);
});

test("a version whose server is down, or does not answer, does not hold up the others of its group", async () => {
  const versions = [{ version: "v1" }, { version: "v1beta1" }];
  const world = kindsOf({
    "/apis": { groups: ["a.test", "b.test"].map((name) => ({ name, versions })) },
    "/apis/a.test/v1": things(true),
    "/apis/b.test/v1": things(false),
  });
  world.down.push("/apis/a.test/v1beta1");
  await world.kinds.readGroup("a.test");
  expect(world.kinds.table.inGroup("a.test", "things")).toMatchObject({ isNamespaced: true });
  world.hangs.push("/apis/b.test/v1beta1");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const reading = world.kinds.readGroup("b.test");
    await vi.advanceTimersByTimeAsync(3_000);
    await reading;
  } finally {
    vi.useRealTimers();
  }
  expect(world.kinds.table.inGroup("b.test", "things")).toMatchObject({ isNamespaced: false });
});

test("groups that a client makes up, however many, cost one request together, and a group that was defined since then is found", async () => {
  const versions = [{ version: "v1" }];
  const documents: Documents = { "/apis": { groups: [] }, "/apis/a.test/v1": things(true) };
  const world = kindsOf(documents);
  const { kinds } = world;
  await Promise.all(Array.from({ length: 1_000 }, async (_, index) => await kinds.readGroup(`made-up-${index}.test`)));
  for (let index = 0; index < 1_000; index += 1) await kinds.readGroup(`made-up-${index}.test`);
  expect(world.asked).toEqual(["/apis"]);
  documents["/apis"] = { groups: [{ name: "a.test", versions }] };
  world.now = 500;
  await kinds.readGroup("a.test");
  expect(world.asked).toEqual(["/apis", "/apis", "/apis/a.test/v1"]);
  expect(kinds.table.inGroup("a.test", "things")).toMatchObject({ isNamespaced: true });
});

test("groups whose list cannot be read are not there, and those that were read stay", async () => {
  const world = kindsOf({ "/apis": { groups: [{ name: "a.test", versions: [{ version: "v1" }] }] }, "/apis/a.test/v1": things(true) });
  await world.kinds.readGroup("a.test");
  world.now = 500;
  world.down.push("/apis");
  await expect(world.kinds.readGroup("b.test")).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("503") });
  expect(world.kinds.table.inGroup("a.test", "things")).toBeDefined();
});

test("versions that a client makes up, however many, do not make the agent forget when it read the others", async () => {
  const world = kindsOf({ "/apis/a.test/v1": things(true) });
  const { kinds } = world;
  await kinds.read("a.test/v1");
  for (let index = 0; index < 2_100; index += 1) await kinds.read(`made-up-${index}.test/v1`);
  world.asked.length = 0;
  expect(kinds.refresh("a.test/v1")).toBeUndefined();
  await kinds.read("made-up-2099.test/v1");
  expect(world.asked).toEqual([]);
  await kinds.read("made-up-0.test/v1");
  expect(world.asked).toEqual(["/apis/made-up-0.test/v1"]);
});

test("the list that was read the longest ago is forgotten first", async () => {
  const documents: Documents = {};
  for (let index = 0; index <= 2_000; index += 1) documents[`/apis/g${index}/v1`] = { resources: [] };
  const world = kindsOf(documents);
  for (let index = 0; index <= 2_000; index += 1) await world.kinds.read(`g${index}/v1`);
  world.asked.length = 0;
  for (const index of [1, 2_000, 0]) await world.kinds.read(`g${index}/v1`);
  expect(world.asked).toEqual(["/apis/g0/v1"]);
});
