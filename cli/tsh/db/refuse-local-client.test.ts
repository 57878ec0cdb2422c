import { duplexPair } from "node:stream";
import { expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dbProtocols } from "../../../core/resources/db.ts";
import { refuseLocalClient } from "./refuse-local-client.ts";

test.for(dbProtocols)("%s: a client that neither speaks nor leaves has ten seconds", async (protocol) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const [, socket] = duplexPair();
    const over = refuseLocalClient({ socket, protocol, start: Buffer.alloc(0) }, new PlatformError("denied", "no"), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(10_000);
    await over;
    expect(socket.destroyed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
