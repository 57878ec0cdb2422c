import { setTimeout as sleep } from "node:timers/promises";
import { eventsInCall } from "../../core/audit/events-in-call.ts";
import { type PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { backOffDelay } from "../../core/transport/back-off.ts";
import type { Batch, Spool } from "./spool.ts";

export interface UploadOptions {
  readonly spool: Spool;
  /** Resolves once the auth service has them durably. */
  readonly send: (events: readonly string[]) => Promise<void>;
  readonly log: Log;
  readonly random?: () => number;
  /** Delay after the first event, ms, so that the events of a short session go together; while events keep coming, four times that. */
  readonly gatherMs?: number;
}

/** After so many failures in a row, some two minutes, one of them is a warning. */
const toldFailures = 12;

/** Interval between searches for segments that other processes left behind, ms. */
const adoptMs = 30_000;

/** Sends what the spool holds, oldest first, until aborted. An event may be sent twice; its uid makes that harmless. */
export async function uploadEvents(options: UploadOptions, signal: AbortSignal): Promise<void> {
  const { spool, log, random = Math.random, gatherMs = 50 } = options;
  let failures = 0;
  let news = Promise.withResolvers<void>();
  spool.onRecorded = () => news.resolve();
  signal.addEventListener("abort", () => news.resolve(), { once: true });
  const adopting = setInterval(() => {
    const failed = (error: unknown): void => log.warn("could not read the audit spool", { error });
    spool.adopt().then((found) => found && news.resolve(), failed);
  }, adoptMs).unref();
  signal.addEventListener("abort", () => clearInterval(adopting), { once: true });
  while (!signal.aborted) {
    news = Promise.withResolvers<void>();
    if (signal.aborted) return;
    try {
      const sent = await uploadNext(options);
      failures = 0;
      if (sent && spool.hasWhole) continue;
      if (!sent) await news.promise;
      // Each batch costs several writes to two disks: under load it must not consist of a few events.
      await sleep(sent ? gatherMs * 4 : gatherMs, undefined, { signal }).catch(() => {});
    } catch (thrown) {
      failures += 1;
      const delay = backOffDelay(failures, random());
      // Now and then where an operator sees it: whatever the reason is, events pile up on this host.
      log[failures % toldFailures === 0 ? "warn" : "debug"]("could not send audit events yet", { error: thrown, failures, retryMs: delay });
      await sleep(delay, undefined, { signal }).catch(() => {});
    }
  }
}

/** Returns whether there was something to send. Throws when sending fails. */
export async function uploadNext(options: UploadOptions): Promise<boolean> {
  const batch = await options.spool.next();
  if (batch === undefined) return false;
  try {
    for (const events of inCalls(batch.events)) await options.send(events);
  } catch (thrown) {
    await sendOneByOne(options, batch, await refusalOfEvents(options, thrown));
  }
  await options.spool.remove(batch);
  return true;
}

/** Bytes of events in one call: the auth service accepts requests of up to 1,000,000. One event has at most 65,536. */
const callBytes = 500_000;

/** Pure: splits events so that each call fits, by bytes and by number: the last write to a segment may make it larger than it is meant to be. */
export function inCalls(events: readonly string[]): string[][] {
  const calls: string[][] = [];
  let bytes = callBytes;
  for (const event of events) {
    const length = Buffer.byteLength(event);
    if (bytes + length > callBytes || calls.at(-1)?.length === eventsInCall) {
      calls.push([]);
      bytes = 0;
    }
    calls.at(-1)?.push(event);
    bytes += length;
  }
  return calls;
}

/**
 * Returns a refusal that concerns the events: unknown ones, or those of this host's identity before it rejoined. Throws one that
 * concerns the host, which may be allowed again.
 */
async function refusalOfEvents({ send }: Pick<UploadOptions, "send">, thrown: unknown): Promise<PlatformError> {
  const error = toPlatformError(thrown);
  if (error.code === "invalid") return error;
  if (error.code !== "denied" && error.code !== "unsupported") throw error;
  await send([]);
  return error;
}

/** One event that the auth service does not understand must not block the others forever: an older one gets it without what is newer. */
async function sendOneByOne({ send, log }: UploadOptions, batch: Batch, refusal: PlatformError): Promise<void> {
  log.warn("auth service refused a batch of audit events: sending them one by one", { error: refusal });
  for (const event of batch.events) {
    try {
      await send([event]);
    } catch (thrown) {
      const error = await refusalOfEvents({ send }, thrown);
      if (await sendOlder({ send }, event)) continue;
      log.error("auth service permanently refused an audit event", { event, error });
    }
  }
}

/** Sends an event that was refused again, without its newer fields. Returns whether the auth service has taken it. */
async function sendOlder({ send }: Pick<UploadOptions, "send">, event: string): Promise<boolean> {
  // Loaded only here: its schemas take megabytes that an idle agent saves.
  const { withoutNewerFields } = await import("../../core/audit/audit-event.ts");
  const older = withoutNewerFields(event);
  if (older === undefined) return false;
  try {
    await send([older]);
    return true;
  } catch (thrown) {
    await refusalOfEvents({ send }, thrown);
    return false;
  }
}
