import { once } from "node:events";
import { setImmediate as breathe } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type AccessEvent, AccessEventSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { silentLog } from "../../../core/log/log.ts";
import { authClientOf } from "../../../test/inside/auth-client-of.ts";
import { AccessCache } from "./access-cache.ts";

test("a watch that moves to another connection begins there before the one before ends, which changes nothing then", async () => {
  const begun: AbortController[] = [];
  const watched = async function* (): AsyncGenerator<AccessEvent> {
    const end = new AbortController();
    begun.push(end);
    yield create(AccessEventSchema, { revision: "r1", maintenanceRevision: `m${begun.length}`, resourcesRevision: `s${begun.length}` });
    await once(end.signal, "abort");
  };
  const auth = { ...authClientOf({ getAccess: () => ({ revision: "r1" }) }), watchAccess: watched };
  const cache = new AccessCache({ auth, log: silentLog });
  const over = new AbortController();
  const running = cache.run(over.signal);
  await expect.poll(() => cache.resourcesRevision).toBe("s1");
  cache.moveWatch();
  await expect.poll(() => cache.resourcesRevision).toBe("s2");
  expect(begun.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  begun[0]?.abort();
  await breathe();
  expect([cache.maintenanceRevision, cache.resourcesRevision, begun.length]).toEqual(["m2", "s2", 2]);
  over.abort();
  begun[1]?.abort();
  await running;
});
