import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { createQueues } from "../../../core/limits/queue.ts";
import { recordingFormat, recordingFormats } from "../../../core/recording/formats.ts";
import type { Recording, RecordingEnd, RecordingFacts } from "../../../core/resources/recording.ts";
import type { DiskRoom } from "../../storage/disk-room.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { RecordingIndexer, type RecordingPoint } from "./recording-index.ts";
import { openRecordingStore, type RecordingStore } from "./recording-store.ts";

/** Maximum size of a recording, bytes: agents stop before. */
export const maxRecording = 128 * 1024 * 1024;
/** Bytes read from the disk at a time. */
const partBytes = 256 * 1024;

export interface RecordingPart {
  readonly facts: RecordingFacts;
  readonly offset: number;
  readonly data: Uint8Array;
  /** Whether this part is the last. */
  readonly end?: RecordingEnd | undefined;
}

/** A part of a recording's file, bytes. */
export interface FilePart {
  readonly offset: number;
  /** Maximum. */
  readonly length: number;
}

export interface Recordings extends Pick<RecordingStore, "find" | "list"> {
  /** Returns the number of durable bytes. Throws `denied`, `limit`, `unavailable`. */
  append(part: RecordingPart, host: HostIdentity): Promise<number>;
  /** Reads as much as was durable at the start; by default all of it. Beyond the end nothing is read. */
  read(recording: Recording, part?: FilePart): AsyncGenerator<Buffer>;
  /** Places at which reading can begin, as far as it was durable at the start. */
  index(recording: Recording): Promise<readonly RecordingPoint[]>;
  close(): void;
}

export interface RecordingsOptions {
  readonly dir: string;
  readonly audit: Pick<AuditLog, "record">;
  readonly room: Pick<DiskRoom, "require">;
  /** Proxies may send recordings of hosts. */
  readonly isAtProxy?: boolean;
}

/** The recordings of a cluster: a database of their facts, and a file of mode 0600 for each. */
export async function openRecordings({ dir, audit, room, isAtProxy = false }: RecordingsOptions): Promise<Recordings> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const store = openRecordingStore(join(dir, "recordings.sqlite"));
  const queues = createQueues({ atOnce: 1, waiting: 15 });
  const fileOf = (facts: RecordingFacts): string => join(dir, `${facts.sid}.${endingOf(facts)}`);
  const append = async ({ facts, offset, data, end }: RecordingPart, host: HostIdentity): Promise<number> => {
    const { sid } = facts;
    const known = store.find(sid);
    const isOwn = facts.server_id === host.id && (known === undefined || known.server_id === host.id);
    // A proxy records hosts, where the mode says so; a host cannot continue another one's recording.
    const isProxys = host.role === "proxy" && isAtProxy && (known === undefined || known.server_id === facts.server_id);
    if (!isOwn && !isProxys) {
      throw new PlatformError("denied", `access denied: host ${host.id} may send only its own recordings`);
    }
    const file = fileOf(known ?? facts);
    const { bytes, state } = known ?? { bytes: 0, state: "running" };
    if (state !== "running" || offset > bytes) return bytes;
    const fresh = data.subarray(bytes - offset);
    const size = bytes + fresh.length;
    if (size > maxRecording) throw new PlatformError("limit", `the recording is larger than the maximum of ${maxRecording} bytes`);
    if (fresh.length > 0) {
      refuseFullDisk(room);
      await writeAt(file, fresh, bytes);
    }
    const isWhole = end !== undefined && offset + data.length >= size;
    if (isWhole) await audit.record({ event: "session.upload", ...sessionOf(known ?? facts), bytes: size, interrupted: end.interrupted });
    // One transaction, however much a call brings: each waits for the disk.
    if (known === undefined || size > bytes || isWhole) await store.keep(known ?? facts, { bytes: size, ...(isWhole && { end }) });
    return size;
  };
  return {
    find: store.find,
    list: store.list,
    append: (part, host) => queues(part.facts.sid, () => append(part, host)),
    read: (recording, { offset, length } = { offset: 0, length: recording.bytes }) =>
      readPart(fileOf(recording), { offset, length: Math.min(length, recording.bytes - offset) }),
    index: async (recording) => {
      const indexer = new RecordingIndexer();
      for await (const chunk of readPart(fileOf(recording), { offset: 0, length: recording.bytes })) indexer.push(chunk);
      return indexer.points();
    },
    close: store.close,
  };
}

function sessionOf({ sid, server_id, server_name, user, login, kind, resource }: RecordingFacts) {
  return { sid, server_id, server_name, user, login, kind, resource };
}

/** Throws `invalid` for a format that this version does not know. */
function endingOf({ format }: RecordingFacts): string {
  const known = recordingFormat(format);
  if (known !== undefined) return recordingFormats[known].ending;
  throw new PlatformError("invalid", `this auth service does not support recordings of format ${JSON.stringify(format)}`, {
    hint: "upgrade the auth service",
  });
}

/** A host retries soon after `unavailable`. */
function refuseFullDisk(room: Pick<DiskRoom, "require">): void {
  try {
    room.require("recordings");
  } catch (cause) {
    throw new PlatformError("unavailable", errorText(cause), { hint: "free some space there", cause });
  }
}

/** Truncates nothing: data beyond the known end is from an interrupted write or another process, and is identical. */
async function writeAt(file: string, data: Uint8Array, position: number): Promise<void> {
  try {
    await using handle = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
    await handle.write(data, 0, data.length, position);
    await handle.datasync();
  } catch (cause) {
    throw new PlatformError("unavailable", "the auth service could not write a recording; see its log", { cause });
  }
}

async function* readPart(file: string, { offset, length }: FilePart): AsyncGenerator<Buffer> {
  if (length <= 0) return;
  await using handle = await open(file, "r").catch((cause: unknown) => {
    throw new PlatformError("not_found", "the file of this recording is missing on the auth service", { cause });
  });
  const end = offset + length;
  for (let at = offset; at < end; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(partBytes, end - at)), 0, undefined, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
