import { expect, test } from "vitest";
import { openTestAuth } from "../../../test/inside/open-auth.ts";

test("a change of what agents offer is another revision at once, and leaves the revision of access alone", async () => {
  await using t = await openTestAuth();
  const follow = async () => {
    const stop = new AbortController();
    const events = t.auth.localClient("proxy").watchAccess({}, { signal: stop.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
    const next = async (): Promise<{ readonly revision: string; readonly resourcesRevision: string }> => {
      const event = await events.next();
      if (event.done === true) throw new Error("the watch ended");
      return event.value;
    };
    return { next, [Symbol.dispose]: () => stop.abort() };
  };
  const put = async (kind: string, version: string, spec: object): Promise<void> => {
    await t.admin.putResource({ json: JSON.stringify({ kind, version, metadata: { name: "orders" }, spec }), overwrite: true });
  };
  using watch = await follow();
  const first = await watch.next();
  expect(first.resourcesRevision).not.toBe("");
  await put("db", "v3", { protocol: "postgres", uri: "db:5432" });
  const created = await watch.next();
  await put("db", "v3", { protocol: "postgres", uri: "other:5432" });
  const changed = await watch.next();
  await t.admin.deleteResource({ kind: "db", name: "orders" });
  const deleted = await watch.next();
  const all = [first, created, changed, deleted];
  expect(new Set(all.map(({ resourcesRevision }) => resourcesRevision)).size).toBe(4);
  expect(new Set(all.map(({ revision }) => revision)).size).toBe(1);
  await put("role", "v7", { allow: { db_labels: { env: "prod" } } });
  const role = await watch.next();
  expect(role.revision).not.toBe(first.revision);
  expect(role.resourcesRevision).toBe(deleted.resourcesRevision);
  // Agents with tunnels to several proxies hear one revision for one state.
  using one = await follow();
  using two = await follow();
  const revisions = async (): Promise<readonly string[]> => await Promise.all([one, two].map(async ({ next }) => (await next()).resourcesRevision));
  const [before, same] = await revisions();
  expect(before).toBe(same);
  await put("app", "v3", { uri: "tcp://127.0.0.1:1" });
  const [after, sameAgain] = await revisions();
  expect([after === sameAgain, after === before]).toEqual([true, false]);
});
