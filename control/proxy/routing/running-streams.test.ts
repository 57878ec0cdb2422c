import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { Lock, LockTarget } from "../../../core/resources/lock.ts";
import { RunningStreams } from "./running-streams.ts";

const now = new Date("2026-11-20T12:00:00Z");
const host = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
const lock = (target: LockTarget, expires?: string): Lock => ({
  kind: "lock",
  version: "v2",
  metadata: { name: "l" },
  spec: { target, ...(expires !== undefined && { expires }) },
});
const identity: UserIdentity = { kind: "user", name: "alice", roles: ["ops"], traits: {}, logins: [], cluster: "c", validBefore: now };

function running(login = "root") {
  const streams = new RunningStreams({ log: silentLog, now: () => now, graceMs: 5 });
  const channel = new PassThrough();
  streams.add({ identity, host, login, channel });
  return { streams, channel };
}

test.for<LockTarget>([{ user: "alice" }, { role: "ops" }, { login: "root" }, { server_id: host }])("a lock of %j ends the stream", async (target) => {
  const { streams, channel } = running();
  streams.apply([lock({ user: "bob" }), lock(target)]);
  await once(channel, "close");
  expect(channel.destroyed).toBe(true);
});

test("locks of others, expired ones and a login that is not known here leave the stream alone", async () => {
  const { streams, channel } = running("");
  streams.apply([lock({ user: "bob" }), lock({ role: "dev" }), lock({ login: "root" }), lock({ user: "alice" }, "2026-11-20T11:59:59Z")]);
  const other = running();
  other.streams.apply([lock({ user: "alice" })]);
  await once(other.channel, "close");
  expect(channel.destroyed).toBe(false);
});
