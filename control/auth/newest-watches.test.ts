import { expect, test } from "vitest";
import { joinHost, openTestAuth } from "../../test/inside/open-auth.ts";
import { mostWatches } from "./api/cluster-methods.ts";

type Host = Awaited<ReturnType<typeof joinHost>>;

/** Watches that wait for a second message; those that have ended are counted. */
function watching(stop: AbortSignal) {
  const ended: unknown[] = [];
  const all: Promise<unknown>[] = [];
  const begin = ({ client }: Host): Promise<unknown> => {
    const watch = client.watchAccess({ version: "1.0.0" }, { signal: stop, timeoutMs: 0 })[Symbol.asyncIterator]();
    const first = watch.next();
    const second = first.then(async () => await watch.next());
    all.push(second.catch((error: unknown) => ended.push(error)));
    return first;
  };
  return { ended, all, begin };
}

test("an agent that begins one watch after the other keeps the newest few, and counts as connected", async () => {
  await using t = await openTestAuth();
  const [host, other] = [await joinHost(t, "web-1"), await joinHost(t, "web-2")];
  const stop = new AbortController();
  const { ended, all, begin } = watching(stop.signal);
  await begin(other);
  for (let n = 0; n < mostWatches.ofAgent; n += 1) await begin(host);
  await host.client.reportNode({ hostId: host.id, hostname: "web-1", services: ["ssh"], version: "1", connected: true, directAddresses: ["a:1"] });
  expect(ended).toEqual([]);
  await begin(host);
  await all[1];
  const { json } = await t.admin.getResource({ kind: "node", name: host.id });
  expect(JSON.parse(json)).toMatchObject({ status: { connected: true } });
  await Promise.all([host.client.getAccess({}), other.client.getAccess({})]);
  expect(ended).toMatchObject([{ code: "unavailable", message: expect.stringContaining("newer watches") }]);
  stop.abort();
  await Promise.all(all);
});

test("the processes of a proxy that was reloaded often do not end each other's watches", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "proxy", { role: "proxy" });
  const stop = new AbortController();
  const { ended, all, begin } = watching(stop.signal);
  for (let n = 0; n < 40; n += 1) await begin(proxy);
  await proxy.client.getAccess({});
  expect(ended).toEqual([]);
  stop.abort();
  await Promise.all(all);
});
