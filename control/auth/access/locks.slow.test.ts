import { expect, test } from "vitest";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";

const lock = (target: object, spec: object = {}): string =>
  JSON.stringify({ kind: "lock", version: "v2", metadata: { name: "l-1" }, spec: { target, ...spec } });
const put = (t: TestAuth, json: string) => t.admin.putResource({ json });

test.for<object>([{ user: "alice" }, { role: "editor" }])(
  "a lock of %j refuses login and calls at once, names itself, and both end with it",
  async (target) => {
    await using t = await openTestAuth();
    const alice = await addUser(t, "alice", { roles: ["editor"] });
    const client = await loggedIn(t, alice);
    await client.listResources({ kind: "role" });
    await put(t, lock(target, { message: "laptop stolen" }));
    const refused = { code: "denied", message: expect.stringMatching(/is locked by lock l-1: laptop stolen/) };
    await expect(client.listResources({ kind: "role" })).rejects.toMatchObject(refused);
    t.forward(60_000);
    const logIn = () =>
      t.connect().login({ user: "alice", password: alice.password, code: codeAt(alice.otpauthUri, t.now()), ...publicKeys(generateKeys()) });
    await expect(logIn()).rejects.toMatchObject(refused);
    expect(await t.events("user.login")).toMatchObject([{ success: true }, { success: false, error: expect.stringContaining("l-1") }]);
    await t.admin.deleteResource({ kind: "lock", name: "l-1" });
    await client.listResources({ kind: "role" });
    await logIn();
    expect(await t.events("lock.created")).toMatchObject([{ code: "TLK00I", name: "l-1", reason: "laptop stolen" }]);
    expect(await t.events("lock.deleted")).toMatchObject([{ code: "TLK01I", name: "l-1" }]);
  },
);

test("others are not shut out, and a wrong password learns nothing of a lock", async () => {
  await using t = await openTestAuth();
  const alice = await addUser(t, "alice", { roles: ["editor"] });
  const bob = await addUser(t, "bob", { roles: ["auditor"] });
  await put(t, lock({ user: "alice" }));
  await (await loggedIn(t, bob)).listEvents({});
  const wrong = t.connect().login({ user: "alice", password: "wrong", code: codeAt(alice.otpauthUri, t.now()), ...publicKeys(generateKeys()) });
  await expect(wrong).rejects.toMatchObject({ code: "unauthenticated", message: expect.not.stringContaining("lock") });
});

test("a lock reaches proxies and agents with a new revision, and is gone when it expires", async () => {
  await using t = await openTestAuth();
  const before = await t.admin.getAccess({});
  expect(before.locksJson).toEqual([]);
  await put(t, lock({ user: "alice" }, { expires: new Date(t.now().getTime() + 60_000).toISOString() }));
  const locked = await t.admin.getAccess({});
  expect(locked.revision).not.toBe(before.revision);
  expect(locked.locksJson.map((json) => JSON.parse(json))).toMatchObject([
    { spec: { target: { user: "alice" }, created_by: expect.stringMatching(/^auth:/) } },
  ]);
  t.forward(60_000);
  expect((await t.admin.getAccess({})).locksJson).toEqual([]);
  await expect(t.admin.getResource({ kind: "lock", name: "l-1" })).rejects.toMatchObject({ code: "not_found" });
});

test("failed logins, which are stored elsewhere, are not locks", async () => {
  await using t = await openTestAuth();
  for (let tries = 0; tries < 6; tries += 1) {
    const wrong = t.connect().login({ user: "alice", password: "x", code: "000000", ...publicKeys(generateKeys()) });
    await expect(wrong).rejects.toThrow();
  }
  expect((await t.admin.listResources({ kind: "lock" })).resources).toEqual([]);
  expect((await t.admin.getAccess({})).locksJson).toEqual([]);
});

test.for<readonly [json: string, reason: RegExp]>([
  [lock({}), /exactly one of/],
  [lock({ user: "alice", role: "x" }), /exactly one of/],
  [lock({ users: "alice" }), /users/],
  [lock({ user: "alice" }, { expires: "2020-01-01T00:00:00Z" }), /is in the past/],
  [lock({ user: "alice" }, { expires: "soon" }), /spec.expires/],
])("%s is not a lock", async ([json, reason]) => {
  await using t = await openTestAuth();
  await expect(put(t, json)).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(reason) });
});

test("who may not create locks, does not; an editor does", async () => {
  await using t = await openTestAuth();
  const auditor = await loggedIn(t, await addUser(t, "eve", { roles: ["auditor"] }));
  await expect(auditor.putResource({ json: lock({ user: "alice" }) })).rejects.toMatchObject({ code: "denied" });
  const editor = await loggedIn(t, await addUser(t, "ed", { roles: ["editor"] }));
  await editor.putResource({ json: lock({ user: "alice" }) });
  expect(await t.events("lock.created")).toMatchObject([{ user: "ed" }]);
});
