import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import { type Lock, type LockTarget, removalLockName } from "../../../core/resources/lock.ts";
import { relayStream } from "./relay-stream.ts";
import { maxOfUser, RelayedStreams, RunningStreams } from "./running-streams.ts";

describe("streams that a lock or a removal ends", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const host = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
  const lock = (target: LockTarget, expires?: string): Lock => ({
    kind: "lock",
    version: "v2",
    metadata: { name: "l" },
    spec: { target, ...(expires !== undefined && { expires }) },
  });
  const identity: UserIdentity = { kind: "user", name: "alice", roles: ["ops"], traits: {}, principals: {}, cluster: "c", validBefore: now };

  function running(login = "root") {
    const streams = new RunningStreams({ log: silentLog, now: () => now, graceMs: 5 });
    const channel = new PassThrough();
    streams.add({ identity, host, login, channel });
    return { streams, channel };
  }

  test.for<LockTarget>([{ user: "alice" }, { role: "ops" }, { login: "root" }, { server_id: host }])(
    "a lock of %j ends the stream",
    async (target) => {
      const { streams, channel } = running();
      streams.apply([lock({ user: "bob" }), lock(target)]);
      await once(channel, "close");
      expect(channel.destroyed).toBe(true);
    },
  );

  test("locks of others, expired ones and a login that is not known here leave the stream alone", async () => {
    const { streams, channel } = running("");
    streams.apply([lock({ user: "bob" }), lock({ role: "dev" }), lock({ login: "root" }), lock({ user: "alice" }, "2026-11-20T11:59:59Z")]);
    const other = running();
    other.streams.apply([lock({ user: "alice" })]);
    await once(other.channel, "close");
    expect(channel.destroyed).toBe(false);
  });

  test("the removal of a user ends the streams of that one, and not of the next who has the name", async () => {
    const [gone, next] = ["a", "b"].map((digit) => digit.repeat(32)) as [string, string];
    const streams = new RunningStreams({ log: silentLog, now: () => now, graceMs: 5 });
    const open = (userId: string | undefined): PassThrough => {
      const channel = new PassThrough();
      streams.add({ identity: { ...identity, userId }, host, login: "root", channel });
      return channel;
    };
    const [ofGone, ofNext, ofUnknown] = [open(gone), open(next), open(undefined)];
    streams.apply([{ ...lock({ user: "alice" }), metadata: { name: removalLockName(gone) } }]);
    await Promise.all([once(ofGone, "close"), once(ofUnknown, "close")]);
    expect(ofNext.destroyed).toBe(false);
  });

  test("one user has at most 500 streams to a host; others and other hosts are not concerned, and what ends makes room", async () => {
    const streams = new RunningStreams({ log: silentLog, now: () => now });
    const open = (user = "alice", to = host): PassThrough => {
      const channel = new PassThrough();
      streams.add({ identity: { ...identity, name: user }, host: to, login: "root", channel });
      return channel;
    };
    const all = Array.from({ length: maxOfUser }, () => open());
    const refused = new PassThrough();
    expect(() => streams.add({ identity, host, login: "root", channel: refused })).toThrow(expect.objectContaining({ code: "limit" }));
    expect(refused.destroyed).toBe(true);
    open("bob");
    open("alice", "another host");
    const [first] = all as [PassThrough];
    await once(first.destroy(), "close");
    open();
    expect(() => open()).toThrow(expect.objectContaining({ code: "limit" }));
  });
});

describe("a stream whose channel has closed, while its client still has to read", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const identity: UserIdentity = { kind: "user", name: "eve", roles: [], traits: {}, principals: {}, cluster: "c", validBefore: now };

  /** A relayed stream whose host has sent something, ended and closed. `stands`: the proxy stands in between, by TLS or to record. */
  async function unread(streams: RunningStreams, stands = false): Promise<Duplex> {
    const channel = new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => written() });
    streams.add({ identity, host: "h", login: "", channel });
    let agent = channel;
    if (stands) {
      agent = new Duplex({ read: () => {}, write: (_chunk, _encoding, written) => written() });
      streams.extend(channel, agent);
    }
    const client = new Duplex({ read: () => {}, write: () => {} });
    void relayStream(client, agent, { running: streams, relaying: new RelayedStreams(() => {}), signal: new AbortController().signal });
    for (const stream of new Set([channel, agent])) {
      stream.push("an answer");
      stream.push(null);
      const closed = once(stream, "close");
      stream.resume();
      await once(stream, "end");
      stream.destroy();
      await closed;
    }
    return client;
  }

  test.for([false, true])("counts for its user until the client has closed too (with something in between: %s)", async (stands) => {
    const streams = new RunningStreams({ log: silentLog, now: () => now });
    const [first] = await Promise.all(Array.from({ length: maxOfUser }, () => unread(streams, stands)));
    const one = { identity, host: "h", login: "" };
    expect(() => streams.add({ ...one, channel: new PassThrough() })).toThrow(expect.objectContaining({ code: "limit" }));
    if (first !== undefined) await once(first.destroy(), "close");
    streams.add({ ...one, channel: new PassThrough() });
    expect(() => streams.add({ ...one, channel: new PassThrough() })).toThrow(expect.objectContaining({ code: "limit" }));
  });

  test.for([false, true])("is cut by a lock, and by the removal of its host (with something in between: %s)", async (stands) => {
    const streams = new RunningStreams({ log: silentLog, now: () => now, graceMs: 5 });
    const locked = await unread(streams, stands);
    streams.apply([{ kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "eve" } } }]);
    await once(locked, "close");
    const removed = await unread(streams, stands);
    streams.removed(["h"]);
    await once(removed, "close");
  });

  test("a client whose stream does not tell of its close, as a channel of SSH that was closed before, counts until the relay is over", async () => {
    const streams = new RunningStreams({ log: silentLog, now: () => now });
    const relaying = new RelayedStreams(() => {});
    for (let count = 0; count < maxOfUser; count += 1) {
      const channel = new PassThrough();
      streams.add({ identity, host: "h", login: "", channel });
      const client = new Duplex({ emitClose: false, read: () => {}, write: () => {} });
      const over = relayStream(client, channel, { running: streams, relaying, signal: new AbortController().signal });
      channel.destroy();
      await over;
    }
    streams.add({ identity, host: "h", login: "", channel: new PassThrough() });
  });

  test("a client that had closed before counts for nothing", async () => {
    const streams = new RunningStreams({ log: silentLog, now: () => now });
    const client = new PassThrough();
    await once(client.destroy(), "close");
    for (let count = 0; count < maxOfUser; count += 1) {
      const channel = new PassThrough();
      streams.add({ identity, host: "h", login: "", channel });
      streams.extend(channel, client);
      await once(channel.destroy(), "close");
    }
    streams.add({ identity, host: "h", login: "", channel: new PassThrough() });
  });
});

describe("streams that are relayed", () => {
  test("counts streams until they end, well or not, and reports each beginning and end", async () => {
    const sizes: number[] = [];
    const streams: RelayedStreams = new RelayedStreams(() => sizes.push(streams.size));
    const [good, bad] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    streams.add(good.promise);
    streams.add(bad.promise);
    const closed = streams.closed();
    expect(streams.size).toBe(2);
    bad.reject(new Error("cut"));
    good.resolve();
    await closed;
    expect(streams.size).toBe(0);
    expect(sizes).toEqual([1, 2, 1, 0]);
  });
});
