import { once } from "node:events";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { CancelKeys } from "./cancel-keys.ts";
import { serveCancelStream } from "./cancel-stream.ts";

function requestFor(key: string): StreamRequest<"cancel"> {
  return { kind: "cancel", target: "", parameters: { key }, clientAddress: "192.0.2.1:1", sessionId: "", accessRevision: "" };
}

/** Keys with one session, of which `cancelled` counts the requests that got through. */
function oneSession(isOpen: boolean, cancel?: () => Promise<void>) {
  const keys = new CancelKeys();
  const done = { cancelled: 0 };
  const count = async (): Promise<void> => {
    done.cancelled += 1;
  };
  const issued = keys.issue({ user: "alice", database: "orders", isOpen, cancel: cancel ?? count }, { pid: 42, secret: Buffer.alloc(4) });
  if (issued === undefined) throw new Error("no key");
  const key = `0000002a${issued.key.secret.toString("hex")}`;
  return { key, done, deps: { log: silentLog, keys, admit: () => true } };
}

test("the key of a session cancels its query, and the stream ends then", async () => {
  const { key, done, deps } = oneSession(true);
  const stream = new PassThrough();
  const closed = once(stream, "close");
  await serveCancelStream(stream, requestFor(key), deps);
  await closed;
  expect(done.cancelled).toBe(1);
});

test("neither a key of a session that needs more than it, nor one of nobody, nor one beyond the rate", async () => {
  const guarded = oneSession(false);
  await serveCancelStream(new PassThrough(), requestFor(guarded.key), guarded.deps);
  expect(guarded.done.cancelled).toBe(0);
  const { key, done, deps } = oneSession(true);
  const other = key.endsWith("0") ? `${key.slice(0, -1)}1` : `${key.slice(0, -1)}0`;
  await serveCancelStream(new PassThrough(), requestFor(other), deps);
  await serveCancelStream(new PassThrough(), requestFor(key), { ...deps, admit: () => false });
  expect(done.cancelled).toBe(0);
});

test("a server that does not take the request ends the stream without a word", async () => {
  const failing = (): Promise<void> => Promise.reject(new PlatformError("unavailable", "no server"));
  const { key, deps } = oneSession(true, failing);
  const stream = new PassThrough();
  await serveCancelStream(stream, requestFor(key), deps);
  expect(stream.destroyed).toBe(true);
});

test("whatever the key, it cancels nothing or is refused", async () => {
  const { done, deps } = oneSession(true);
  const texts = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), maxLength: 600 }));
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      await serveCancelStream(new PassThrough(), requestFor(text), deps).catch((thrown: unknown) => {
        expect(thrown).toMatchObject({ code: "invalid" });
      });
      expect(done.cancelled).toBe(0);
    }),
  );
});
