import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { testDatabase } from "../../../test/inside/database-user.ts";
import { ServerSockets } from "./server-sockets.ts";

describe("the connections of a session to servers", () => {
  const locked = new PlatformError("denied", "alice is locked");

  /** Nothing listens at the database's address. */
  function open() {
    const over = new AbortController();
    let unreached = 0;
    const onUnreached = (): void => {
      unreached += 1;
    };
    const sockets = new ServerSockets({ database: testDatabase("postgres"), signal: over.signal, onUnreached });
    return { sockets, over, unreached: () => unreached };
  }

  test("a server that is not reached is reported, so that it is checked at once", async () => {
    const { sockets, unreached } = open();
    await expect(sockets.dial()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("database orders is unreachable") });
    expect(unreached()).toBe(1);
  });

  test.for([true, false])("a session that is over reports nothing about the server (over before the dialling: %s)", async (isBefore) => {
    const { sockets, over, unreached } = open();
    if (isBefore) over.abort(locked);
    const dialled = expect(sockets.dial()).rejects.toThrow();
    over.abort(locked);
    await dialled;
    expect(unreached()).toBe(0);
  });
});
