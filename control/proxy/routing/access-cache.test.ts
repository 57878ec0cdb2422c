import { once } from "node:events";
import { setImmediate as breathe } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type AccessEvent, AccessEventSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { silentLog } from "../../../core/log/log.ts";
import { authClientOf } from "../../../test/inside/auth-client-of.ts";
import { AccessCache } from "./access-cache.ts";

test("a watch that moves to another connection is answered there before the one before is ended, and the proxy keeps what it knows", async () => {
  const begun: AbortSignal[] = [];
  const answer = Promise.withResolvers<void>();
  const watched = async function* (_request: unknown, options?: { readonly signal?: AbortSignal }): AsyncGenerator<AccessEvent> {
    const { signal = AbortSignal.abort() } = options ?? {};
    begun.push(signal);
    const n = begun.length;
    if (n === 2) await answer.promise;
    yield create(AccessEventSchema, { revision: "r1", maintenanceRevision: `m${n}`, resourcesRevision: `s${n}` });
    if (!signal.aborted) await once(signal, "abort");
  };
  const auth = { ...authClientOf({ getAccess: () => ({ revision: "r1" }) }), watchAccess: watched };
  const cache = new AccessCache({ auth, log: silentLog });
  const over = new AbortController();
  const running = cache.run(over.signal);
  await expect.poll(() => cache.resourcesRevision).toBe("s1");
  cache.moveWatch();
  await expect.poll(() => begun.length).toBe(2);
  expect(begun.map(({ aborted }) => aborted)).toEqual([false, false]);
  answer.resolve();
  await expect.poll(() => cache.resourcesRevision).toBe("s2");
  expect(begun.map(({ aborted }) => aborted)).toEqual([true, false]);
  await breathe();
  expect([cache.maintenanceRevision, cache.resourcesRevision, begun.length]).toEqual(["m2", "s2", 2]);
  over.abort();
  await running;
});
