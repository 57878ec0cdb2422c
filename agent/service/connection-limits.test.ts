import { describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { until } from "../../test/world/until.ts";
import { openLeases, UserShares } from "./connection-limits.ts";

describe("a lease", () => {
  const taken = new PlatformError("limit", "connection limit reached: alice already has 1 (max_connections)");

  /** Answers holdConnection by `next`, and counts calls. */
  function service(next: () => Error | undefined) {
    const calls = { held: 0, released: 0 };
    const client = {
      holdConnection: async () => {
        calls.held += 1;
        const error = next();
        if (error !== undefined) throw error;
        return { $typeName: "platform.auth.v1.HoldConnectionResponse" as const, validSeconds: 60 };
      },
      releaseConnection: async () => {
        calls.released += 1;
        return { $typeName: "platform.auth.v1.ReleaseConnectionResponse" as const };
      },
    };
    return { calls, hold: openLeases({ client: async () => client, log: silentLog, renewMs: 5 }) };
  }
  const ask = { user: "alice", id: "1", maximum: 1 };

  /** As long as another lease is renewed a few times. */
  async function whileOthersRenew(): Promise<void> {
    const { calls, hold } = service(() => undefined);
    const held = await hold(ask);
    await until("another lease was renewed", () => calls.held > 4);
    await held.release();
  }

  test("a lease is renewed while it is held, and released once", async () => {
    const { calls, hold } = service(() => undefined);
    const held = await hold(ask);
    await until("it was renewed", () => calls.held > 2);
    await held.release();
    const { held: count } = calls;
    await whileOthersRenew();
    expect(calls).toEqual({ held: count, released: 1 });
  });

  test("while the auth service is away the connection goes on; when others took the lease it is lost, and not renewed again", async () => {
    let answer: Error | undefined;
    const { calls, hold } = service(() => answer);
    const held = await hold(ask);
    const lost: string[] = [];
    held.onLost(({ message }) => lost.push(message));
    answer = new PlatformError("unavailable", "away");
    const before = calls.held;
    await until("renewal failed", () => calls.held > before + 2);
    expect(lost).toEqual([]);
    answer = taken;
    await until("it is lost", () => lost.length > 0);
    const after = calls.held;
    await whileOthersRenew();
    expect(calls.held).toBe(after);
    expect(lost).toEqual([taken.message]);
    const late: string[] = [];
    held.onLost(({ message }) => late.push(message));
    expect(late).toEqual([taken.message]);
  });

  test("without an answer there is no lease; the limit's own message reaches the user", async () => {
    await expect(service(() => new PlatformError("timeout", "slow")).hold(ask)).rejects.toMatchObject({ code: "unavailable" });
    await expect(service(() => taken).hold(ask)).rejects.toBe(taken);
  });
});

test("one user has at most 500 connections to this host, and another one still gets in", () => {
  const shares = new UserShares();
  const releases = Array.from({ length: 500 }, () => shares.take("greedy"));
  expect(() => shares.take("greedy")).toThrow(expect.objectContaining({ code: "limit" }));
  shares.take("other");
  releases[0]?.();
  shares.take("greedy");
  expect(() => shares.take("greedy")).toThrow(expect.objectContaining({ code: "limit" }));
});
