import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import { turns } from "../../test/inside/turns.ts";
import { FrameFilter, type FrameFormat } from "./frame-filter.ts";
import { type RelayEnd, type RelayedFrames, relayFrames } from "./relay-frames.ts";

const format: FrameFormat = {
  headerBytes: 2,
  lengthOf: (header) => {
    if (header[0] !== 0x61) throw new PlatformError("invalid", "not a frame");
    return 2 + (header[1] ?? 0);
  },
  keep: () => 0,
};
const frame = (text: string): string => `a${String.fromCharCode(text.length)}${text}`;
const locked = new PlatformError("denied", "alice is locked");

describe("a relay of frames", () => {
  let user: Socket;
  let base: Socket;
  let ended: Promise<RelayEnd>;
  const stop = { now: new AbortController() };
  const options: Pick<{ -readonly [Key in keyof RelayedFrames]: RelayedFrames[Key] }, "onClient" | "untilSafe"> = {};
  let server: Socket;
  let client: Socket;

  beforeEach(async () => {
    stop.now = new AbortController();
    delete options.onClient;
    delete options.untilSafe;
    const [near, downstream] = await socketPair();
    const [far, upstream] = await socketPair();
    [user, client, base, server] = [near, downstream, far, upstream];
    ended = relayFrames({
      client,
      server: upstream,
      fromClient: new FrameFilter(format, () => "pass"),
      fromServer: new FrameFilter(format, () => "pass"),
      signal: stop.now.signal,
      onClient: (bytes) => options.onClient?.(bytes),
      untilSafe: () => options.untilSafe?.(),
      lastWords: ({ message }) => Buffer.from(`[${message}]`),
    });
    for (const socket of [user, base]) socket.allowHalfOpen = true;
    for (const socket of [user, base]) socket.setEncoding("latin1").on("error", () => {});
  });
  afterEach(async () => {
    for (const socket of [user, base]) socket.destroy();
    await ended;
  });

  /** Until the peer's end; this end stays open. */
  const all = async (socket: Socket): Promise<string> => {
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    await new Promise((resolve) => void socket.once("end", resolve).once("close", resolve));
    return text;
  };
  const first = async (socket: Socket): Promise<string> => await new Promise((resolve) => socket.once("data", (text) => resolve(String(text))));

  test("carries both directions, and each end by itself", async () => {
    user.end(frame("select"));
    expect(await all(base)).toBe(frame("select"));
    base.end(frame("row") + frame("row"));
    expect(await all(user)).toBe(frame("row") + frame("row"));
    expect(await ended).toEqual({ reason: undefined, malformed: undefined });
  });

  test.for(["at once", "once they are safe"] as const)(
    "tiny frames that go on %s do not wait by the thousand for an end that takes nothing, and arrive",
    async (when) => {
      if (when === "once they are safe") options.untilSafe = async () => {};
      server.cork();
      for (let sent = 0; sent < 3_000; sent += 1) {
        client.push(Buffer.from(frame("")));
        if (sent % 100 === 0) await new Promise(setImmediate);
      }
      expect([server.writableLength, client.readableLength]).toEqual([2_048, 3_952]);
      server.uncork();
      user.end();
      expect(await all(base)).toBe(frame("").repeat(3_000));
    },
  );

  test("the reason of a cut arrives between two messages of the server", async () => {
    base.write(frame("row"));
    expect(await first(user)).toBe(frame("row"));
    stop.now.abort(locked);
    expect(await all(user)).toBe("[alice is locked]");
    expect(await ended).toEqual({ reason: locked, malformed: undefined });
  });

  test("in the middle of a message it waits for the rest of it, and nothing of the next one passes", async () => {
    base.write("a\u0006abc");
    expect(await first(user)).toBe("a\u0006abc");
    stop.now.abort(locked);
    base.write(`def${frame("next")}`);
    const rest = await all(user);
    expect(rest.startsWith("def")).toBe(true);
    expect(rest.endsWith("[alice is locked]")).toBe(true);
    expect((await ended).reason).toBe(locked);
  });

  test("the end of the database in the middle of a message adds nothing to it", async () => {
    base.write("a\u0006abc");
    expect(await first(user)).toBe("a\u0006abc");
    stop.now.abort(locked);
    base.destroy();
    expect(await all(user)).toBe("");
    expect((await ended).reason).toBe(locked);
  });

  test("a broken connection to the database is reported", async () => {
    server.destroy(new Error("read ECONNRESET"));
    expect(await all(user)).toContain("the connection to the database broke: read ECONNRESET");
    expect((await ended).reason).toMatchObject({ code: "unavailable" });
  });

  test("bytes that are not the protocol's end it, and say whose they were", async () => {
    user.write("xyz");
    expect(await all(user)).toBe("[not a frame]");
    expect(await ended).toMatchObject({ reason: { code: "invalid" }, malformed: "client" });
  });

  test("nothing more is read from the client while the audit has no room; when it cannot be kept the session ends", async () => {
    const room = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    options.onClient = () => room[calls++]?.promise;
    user.write(frame("one"));
    expect(await first(base)).toBe(frame("one"));
    user.write(frame("two"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(1);
    room[0]?.resolve();
    expect(await first(base)).toBe(frame("two"));
    room[1]?.reject(new PlatformError("limit", "the disk is full"));
    expect(await all(user)).toBe("[the disk is full]");
    expect((await ended).reason).toMatchObject({ code: "limit" });
  });

  test("what must be safe first goes on in its order once it is, with the client's end behind it; the server's answers do not wait", async () => {
    const safe = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const asked: string[] = [];
    options.untilSafe = () => {
      asked.push("safe");
      return safe[asked.length - 1]?.promise;
    };
    let got = "";
    base.on("data", (text) => (got += String(text)));
    user.write(frame("one"));
    await expect.poll(() => asked.length).toBe(1);
    user.end(frame("two"));
    base.write(frame("row"));
    expect(await first(user)).toBe(frame("row"));
    await turns();
    expect([asked.length, got]).toEqual([1, ""]);
    safe[0]?.resolve();
    await expect.poll(() => asked.length).toBe(2);
    await turns();
    expect(got).toBe(frame("one"));
    const over = all(base);
    safe[1]?.resolve();
    await over;
    expect(got).toBe(frame("one") + frame("two"));
  });

  test("what is not safe never goes on: not after a cut, nor after the client's loss, nor when it cannot be kept", async () => {
    for (const end of ["cut", "loss", "failure"] as const) {
      const [[one, downstream], [far, upstream]] = [await socketPair(), await socketPair()];
      let got = "";
      far.setEncoding("latin1").on("data", (text) => (got += String(text)));
      const [safe, asked, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), new AbortController()];
      const filters = { fromClient: new FrameFilter(format, () => "pass"), fromServer: new FrameFilter(format, () => "pass") };
      const untilSafe = (): Promise<void> => {
        asked.resolve();
        return safe.promise;
      };
      const over = relayFrames({
        ...{ client: downstream, server: upstream, ...filters, untilSafe },
        signal: stopping.signal,
        lastWords: () => undefined,
      });
      one.write(frame("one"));
      await asked.promise;
      if (end === "cut") stopping.abort(locked);
      else if (end === "loss") one.resetAndDestroy();
      else safe.reject(new PlatformError("limit", "the disk is full"));
      one.resume();
      far.end();
      await over;
      safe.resolve();
      await turns();
      expect([end, got]).toEqual([end, ""]);
      one.destroy();
      far.destroy();
    }
  });

  test("a failure while frames go on that were not safe before ends the session", async () => {
    options.untilSafe = async () => {};
    options.onClient = () => {
      throw new PlatformError("limit", "the disk is full");
    };
    user.write(frame("one"));
    expect(await all(user)).toBe("[the disk is full]");
    expect((await ended).reason).toMatchObject({ code: "limit" });
  });

  test("after the client's end the server has ten minutes for each next byte", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      user.end(frame("select"));
      expect(await all(base)).toBe(frame("select"));
      for (const text of ["one", "two"]) {
        await vi.advanceTimersByTimeAsync(599_000);
        base.write(frame(text));
        expect(await first(user)).toBe(frame(text));
      }
      await vi.advanceTimersByTimeAsync(601_000);
      await vi.advanceTimersByTimeAsync(3_000);
      expect((await ended).reason).toMatchObject({ code: "timeout" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("a client that does not read holds the server back, and loses nothing", async () => {
    const piece = frame("x".repeat(98)).repeat(100_000);
    let sent = 0;
    user.pause();
    const pour = (): void => {
      if (sent >= 4) return void base.end();
      sent += 1;
      base.write(piece, pour);
    };
    pour();
    await new Promise((resolve) => setImmediate(resolve));
    let length = 0;
    for await (const chunk of user) length += String(chunk).length;
    expect(length).toBe(4 * piece.length);
    user.end();
    expect((await ended).reason).toBeUndefined();
  });
});
