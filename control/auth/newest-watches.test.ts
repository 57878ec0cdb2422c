import { expect, test } from "vitest";
import { joinHost, openTestAuth } from "../../test/inside/open-auth.ts";
import { mostWatches } from "./api/cluster-methods.ts";

test("a host that begins one watch after the other keeps the newest few, and counts as connected", async () => {
  await using t = await openTestAuth();
  const [host, other] = [await joinHost(t, "web-1"), await joinHost(t, "web-2")];
  const stop = new AbortController();
  const begin = async ({ client }: typeof host) => {
    const watch = client.watchAccess({ version: "1.0.0" }, { signal: stop.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
    await watch.next();
    return watch.next();
  };
  const untouched = begin(other);
  const watches: ReturnType<typeof begin>[] = [];
  for (let n = 0; n < mostWatches; n += 1) {
    const next = begin(host);
    next.catch(() => {});
    watches.push(next);
  }
  await host.client.reportNode({ hostId: host.id, hostname: "web-1", services: ["ssh"], version: "1", connected: true, directAddresses: ["a:1"] });
  const further = begin(host);
  further.catch(() => {});
  await expect(watches[0]).rejects.toMatchObject({ code: "limit", message: expect.stringContaining("newer watches") });
  const { json } = await t.admin.getResource({ kind: "node", name: host.id });
  expect(JSON.parse(json)).toMatchObject({ status: { connected: true } });
  const ended = Promise.allSettled([...watches.slice(1), further, untouched]);
  expect(await Promise.race([ended, Promise.resolve("all others go on")])).toBe("all others go on");
  stop.abort();
  await ended;
});
