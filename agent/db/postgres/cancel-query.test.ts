import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { engineSession } from "../../../test/inside/engine-session.ts";
import { cancelOf } from "./cancel-query.ts";

test("a server that cannot be reached fails the request, which is recorded; only so many are on their way at once", async () => {
  const { session, events, near } = await engineSession({ protocol: "postgres" });
  const down = Promise.withResolvers<never>();
  const access = { user: "ann", dial: () => down.promise, secure: () => down.promise };
  const cancel = cancelOf(session, access, { pid: 1, secret: Buffer.alloc(4) });
  const first = Array.from({ length: 8 }, async () => await cancel().catch((thrown: unknown) => thrown));
  await expect(cancel()).rejects.toMatchObject({ code: "limit" });
  down.reject(new PlatformError("unavailable", "could not reach the server"));
  for (const thrown of await Promise.all(first)) expect(thrown).toMatchObject({ code: "unavailable" });
  expect(events).toHaveLength(8);
  expect(events[0]).toEqual({ event: "db.session.cancel", success: false, error: "could not reach the server" });
  await expect(cancel()).rejects.toMatchObject({ code: "unavailable" });
  near.destroy();
});
