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
  type ShortRecording,
  type SpooledRecording,
} from "./recording-spool.ts";

/** Recordings of sessions, on this host and on their way to the auth service. */
export interface Recordings {
  /** Throws PlatformError when it cannot be written. */
  begin<Writer extends RecordingWriter>(recording: NewRecording<Writer>): Promise<OpenRecording<Writer>>;
  /** Takes a whole one, of a session that may go on without. False: it needs a file. */
  keep(recording: ShortRecording): boolean;
  /** Sends the current state of one. Throws PlatformError when the auth service does not accept it. */
  sendNow(recording: SpooledRecording): Promise<void>;
  /** Sends all of them as they grow, until aborted. */
  upload(signal: AbortSignal): Promise<void>;
  /** Sends what is pending. Throws when the auth service cannot be reached. */
  sendRest(): Promise<void>;
}

export interface RecordingsOptions extends RecordingSpoolOptions, RecordingSending {}

interface RecordingSending {
  /** Resolves with the bytes that the auth service has durably. */
  readonly send: (call: RecordingCall) => Promise<number>;
  /** The same for parts of several recordings at once; the refusal of one does not concern the others. Throws `unsupported` with an older auth service. */
  readonly sendMany?: (calls: readonly RecordingCall[]) => Promise<readonly (number | PlatformError)[]>;
}

export async function openRecordings(options: RecordingsOptions): Promise<Recordings> {
  const spool = await RecordingSpool.open(options);
  const upload = { ...options, spool };
  return {
    begin: (recording) => spool.begin(recording),
    keep: (recording) => spool.keep(recording),
    sendNow: async (recording) => {
      await uploadPart(upload, recording);
      if (recording.notBefore !== undefined)
        throw new PlatformError("unavailable", "the auth service refused it; see this host's log for the reason");
    },
    upload: (signal) => uploadRecordings(upload, signal),
    sendRest: async () => {
      try {
        await sendRecordings(upload);
      } finally {
        await spool.flush();
      }
    },
  };
}

/** One call: the next bytes of a recording. */
export interface RecordingCall {
  readonly factsJson: string;
  readonly offset: number;
  readonly data: Uint8Array;
  readonly endJson: string;
}

interface RecordingUploadOptions extends RecordingSending {
  readonly spool: RecordingSpool;
  readonly log: Log;
}

/** Bytes in one call: the auth service accepts requests of up to 1,000,000. */
const partBytes = 512 * 1024;
/** Maximum calls at a time. */
const atOnce = 4;
/** Maximum bytes of an ended recording that goes with others in one call. */
const smallBytes = 32 * 1024;
/** Maximum number of them in one call: the auth service takes no more. */
const mostTogether = 64;
/** Delay after the first news, ms, so that what short sessions leave goes together; while news keep coming, four times that. */
const gatherMs = 50;
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
    const waiting = spool.waiting(performance.now());
    if (waiting.length === 0) {
      await news.promise;
      await sleep(gatherMs, undefined, { signal }).catch(() => {});
      continue;
    }
    const failed = await sendBatch(options, waiting);
    failures = failed === undefined ? 0 : failures + 1;
    if (failed !== undefined) log.debug("could not send recordings yet", { error: errorText(failed.reason), failures });
    const delay = failed !== undefined ? backOffDelay(failures, Math.random()) : waiting.every(isSmall) ? gatherMs * 4 : 0;
    if (delay > 0) await sleep(delay, undefined, { signal }).catch(() => {});
  }
  clearInterval(looking);
}

/** Sends some of them: small ones in a common call. The first failure, if there is one. */
async function sendBatch(options: RecordingUploadOptions, waiting: readonly SpooledRecording[]): Promise<PromiseRejectedResult | undefined> {
  const small = options.sendMany === undefined ? [] : waiting.filter(isSmall);
  const together = small.length > 1 ? inOneCall(small) : [];
  const alone = waiting.filter((one) => !together.includes(one)).slice(0, atOnce);
  const calls = [...alone.map((one) => uploadPart(options, one)), ...(together.length > 0 ? [uploadTogether(options, together)] : [])];
  const sent = await Promise.allSettled(calls);
  return sent.find((one) => one.status === "rejected");
}

function inOneCall(small: readonly SpooledRecording[]): readonly SpooledRecording[] {
  let bytes = 0;
  return small.slice(0, mostTogether).filter(({ written, sent }) => {
    bytes += written - sent;
    return bytes <= partBytes;
  });
}

/** Whether it is short, and all of it is here. */
function isSmall({ written, sent, end }: SpooledRecording): boolean {
  return end !== undefined && written - sent <= smallBytes;
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
async function uploadPart(options: RecordingUploadOptions, recording: SpooledRecording): Promise<void> {
  try {
    const part = await partOf(recording);
    await settle(options, part, await options.send(part.call));
  } catch (thrown) {
    await postpone(options, recording, thrown);
  }
}

/** The rest of each, in one call. Throws as `uploadPart` does. */
async function uploadTogether(options: RecordingUploadOptions, recordings: readonly SpooledRecording[]): Promise<void> {
  const parts: RecordingPart[] = [];
  for (const recording of recordings) {
    const part = await partOf(recording).catch(async (thrown: unknown) => await postpone(options, recording, thrown));
    if (part !== undefined) parts.push(part);
  }
  const sizes = await options.sendMany?.(parts.map(({ call }) => call)).catch((thrown: unknown) => {
    if (toPlatformError(thrown).code !== "unsupported") throw thrown;
  });
  if (sizes === undefined) {
    // An older auth service takes them one by one.
    for (const { recording } of parts) await uploadPart(options, recording);
    return;
  }
  for (const [place, part] of parts.entries()) {
    const size = sizes[place] ?? new PlatformError("unavailable", "the auth service did not answer for it");
    await (typeof size === "number" ? settle(options, part, size) : Promise.reject(size)).catch(
      async (thrown: unknown) => await postpone(options, part.recording, thrown),
    );
  }
}

interface RecordingPart {
  readonly recording: SpooledRecording;
  readonly call: RecordingCall;
  readonly isLast: boolean;
}

async function partOf(recording: SpooledRecording): Promise<RecordingPart> {
  const { facts, sent: offset, end } = recording;
  const data = await readPart(recording);
  const isLast = end !== undefined && offset + data.length >= recording.written;
  const endJson = isLast ? writeDocument(recordingEndDocument, end) : "";
  return { recording, isLast, call: { factsJson: writeDocument(recordingFactsDocument, facts), offset, data, endJson } };
}

/** The auth service has `size` bytes of it. Throws `conflict`. */
async function settle({ spool }: RecordingUploadOptions, { recording, call, isLast }: RecordingPart, size: number): Promise<void> {
  if (size === call.offset && call.data.length > 0) throw new PlatformError("conflict", "the auth service already has its end and accepts no more");
  recording.sent = Math.min(size, recording.written);
  if (isLast && recording.sent >= recording.written) await spool.forget(recording);
}

/** A refused one waits. Throws when the auth service cannot be reached. */
async function postpone({ spool, log }: RecordingUploadOptions, recording: SpooledRecording, thrown: unknown): Promise<undefined> {
  const { facts, file, end } = recording;
  // Another process of this host has sent it.
  if ((thrown as NodeJS.ErrnoException).code === "ENOENT" && end !== undefined) return void (await spool.forget(recording));
  const error = toPlatformError(thrown);
  if (isPassing(error)) throw error;
  log.error("could not send a recording: it stays on this host", { sid: facts.sid, file, error: error.cause ?? error });
  recording.notBefore = performance.now() + refusedMs;
}

function isPassing({ code }: PlatformError): boolean {
  return code === "unavailable" || code === "timeout" || code === "unauthenticated";
}

async function readPart(recording: SpooledRecording): Promise<Buffer> {
  const { written, sent, memory } = recording;
  if (memory !== undefined) return memory.subarray(sent, sent + partBytes);
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
