import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError, toPlatformError } from "../errors/platform-error.ts";
import type { Log } from "../log/log.ts";
import { writeDocument } from "../resources/document.ts";
import { recordingEndDocument, recordingFactsDocument } from "../resources/recording.ts";
import { backOffDelay } from "../transport/back-off.ts";
import {
  type NewRecording,
  type OpenRecording,
  RecordingSpool,
  type RecordingSpoolOptions,
  type RecordingWriter,
  type SpooledRecording,
} from "./recording-spool.ts";

/** Recordings of sessions, on this host and on their way to the auth service. */
export interface Recordings {
  /** Throws PlatformError when it cannot be written. */
  begin<Writer extends RecordingWriter>(recording: NewRecording<Writer>): Promise<OpenRecording<Writer>>;
  /** Sends the current state of one. Throws PlatformError when the auth service does not accept it. */
  sendNow(recording: SpooledRecording): Promise<void>;
  /** Sends all of them as they grow, until aborted. */
  upload(signal: AbortSignal): Promise<void>;
  /** Sends what is pending. Throws when the auth service cannot be reached. */
  sendRest(): Promise<void>;
}

export interface RecordingsOptions extends RecordingSpoolOptions {
  /** Resolves with the bytes that the auth service has durably. */
  readonly send: (call: RecordingCall) => Promise<number>;
}

export async function openRecordings(options: RecordingsOptions): Promise<Recordings> {
  const spool = await RecordingSpool.open(options);
  const upload = { spool, send: options.send, log: options.log };
  return {
    begin: (recording) => spool.begin(recording),
    sendNow: async (recording) => {
      await uploadPart(upload, recording);
      if (recording.notBefore !== undefined)
        throw new PlatformError("unavailable", "the auth service refused it; see this host's log for the reason");
    },
    upload: (signal) => uploadRecordings(upload, signal),
    sendRest: () => sendRecordings(upload),
  };
}

/** One call: the next bytes of a recording. */
export interface RecordingCall {
  readonly factsJson: string;
  readonly offset: number;
  readonly data: Uint8Array;
  readonly endJson: string;
}

interface RecordingUploadOptions {
  readonly spool: RecordingSpool;
  /** Resolves with the bytes that the auth service has durably. */
  readonly send: (call: RecordingCall) => Promise<number>;
  readonly log: Log;
}

/** Bytes in one call: the auth service accepts requests of up to 1,000,000. */
const partBytes = 512 * 1024;
/** Maximum recordings sent at a time. */
const atOnce = 4;
/** Delay before retrying a recording that the auth service refused, ms: it may have room, or accept it, by then. */
const refusedMs = 600_000;
/** Interval between searches for recordings that other processes left behind, ms. */
const adoptMs = 30_000;

/** Sends recordings while they grow and until they are whole, until aborted. A part may be sent twice: its offset makes that harmless. */
async function uploadRecordings(options: RecordingUploadOptions, signal: AbortSignal): Promise<void> {
  const { spool, log } = options;
  let failures = 0;
  let news = Promise.withResolvers<void>();
  spool.onNews = () => news.resolve();
  signal.addEventListener("abort", () => news.resolve(), { once: true });
  const looking = setInterval(() => {
    spool.adopt().then(
      () => news.resolve(),
      (error: unknown) => log.warn("could not read the folder of recordings", { error: errorText(error) }),
    );
  }, adoptMs).unref();
  while (!signal.aborted) {
    news = Promise.withResolvers<void>();
    const batch = spool.waiting(performance.now()).slice(0, atOnce);
    if (batch.length === 0) {
      await news.promise;
      continue;
    }
    const sent = await Promise.allSettled(batch.map((recording) => uploadPart(options, recording)));
    const failed = sent.find((one) => one.status === "rejected");
    failures = failed === undefined ? 0 : failures + 1;
    if (failed === undefined) continue;
    const delay = backOffDelay(failures, Math.random());
    log.debug("could not send recordings yet", { error: errorText(failed.reason), retryMs: delay });
    await sleep(delay, undefined, { signal }).catch(() => {});
  }
  clearInterval(looking);
}

/** Sends what is pending, as long as that works. */
async function sendRecordings(options: RecordingUploadOptions): Promise<void> {
  for (;;) {
    const [next] = options.spool.waiting(performance.now());
    if (next === undefined) return;
    await uploadPart(options, next);
  }
}

/** One part of a recording. Throws when the auth service cannot be reached; a refused one waits. */
async function uploadPart({ spool, send, log }: RecordingUploadOptions, recording: SpooledRecording): Promise<void> {
  const { facts, sent: offset, end } = recording;
  try {
    const data = await readPart(recording);
    const isLast = end !== undefined && offset + data.length >= recording.written;
    const size = await send({
      factsJson: writeDocument(recordingFactsDocument, facts),
      offset,
      data,
      endJson: isLast ? writeDocument(recordingEndDocument, end) : "",
    });
    if (size === offset && data.length > 0) throw new PlatformError("conflict", "the auth service already has its end and accepts no more");
    recording.sent = Math.min(size, recording.written);
    if (isLast && recording.sent >= recording.written) await spool.forget(recording);
  } catch (thrown) {
    // Another process of this host has sent it.
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT" && end !== undefined) return await spool.forget(recording);
    const error = toPlatformError(thrown);
    if (isPassing(error)) throw error;
    log.error("could not send a recording: it stays on this host", { sid: facts.sid, file: recording.file, error: error.cause ?? error });
    recording.notBefore = performance.now() + refusedMs;
  }
}

function isPassing({ code }: PlatformError): boolean {
  return code === "unavailable" || code === "timeout" || code === "unauthenticated";
}

async function readPart(recording: SpooledRecording): Promise<Buffer> {
  const { written, sent } = recording;
  const length = Math.min(partBytes, written - sent);
  if (length <= 0) return Buffer.alloc(0);
  await using handle = await openFile(recording);
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, sent);
  return buffer.subarray(0, bytesRead);
}

/** Opens the file, whose name changes when its session ends, possibly in between. */
async function openFile(recording: SpooledRecording): Promise<FileHandle> {
  const { file } = recording;
  return await open(file, "r").catch((missing: unknown) => {
    if (recording.file === file) throw missing;
    return open(recording.file, "r");
  });
}

/** Maximum delay at the auth service of a recording that must be stored there, ms. */
const syncMs = 10_000;

/** Checks whether the auth service keeps up; `onBehind` is called once when it does not. Returns the function that stops it. */
export function watchUpload({ spooled }: { readonly spooled: SpooledRecording }, onBehind: (why: PlatformError) => void): () => void {
  let upToDate = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (spooled.sent >= spooled.written) upToDate = now;
    if (now - upToDate <= syncMs) return;
    clearInterval(timer);
    onBehind(new PlatformError("unavailable", `the auth service has not accepted any of it for ${syncMs / 1000} s`));
  }, 500);
  return () => clearInterval(timer);
}

/** The error for the user of a session that cannot begin or continue without a recording. */
export function mustBeRecorded(cause: unknown): PlatformError {
  return new PlatformError("unavailable", `sessions on this host must be recorded, and this one cannot be: ${errorText(cause)}`, { cause });
}
