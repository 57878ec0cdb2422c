import { closeSync, constants, fchmodSync, futimesSync, openSync, type Stats, statSync } from "node:fs";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../core/sftp/attributes.ts";
import { openFlags } from "../../core/sftp/numbers.ts";
import { atTarget } from "./at-target.ts";
import type { CopyFacts } from "./copy-facts.ts";
import { fetchPieces } from "./fetch-pieces.ts";
import { hasSameStart, mayResume } from "./find-resume.ts";
import { closeHandle, openFile } from "./sftp-calls.ts";

interface Download {
  readonly source: Buffer;
  /** Attributes of the file itself, not of a link to it. */
  readonly attributes: Attributes;
  readonly target: Buffer;
  /** Name for messages and the progress. */
  readonly name: string;
}

/** Fetches a file into an existing or new one; see `uploadFile`. Throws PlatformError and the system's errors of the local file. */
export async function downloadFile(facts: CopyFacts, { source, attributes, target, name }: Download): Promise<void> {
  const { client, progress, preserve } = facts;
  if (kindOf(attributes) === "special") throw new PlatformError("invalid", "not a regular file");
  const size = Number(attributes.size ?? 0n);
  progress.begin(name, size);
  const handle = await openFile(client, source, { flags: openFlags.read });
  let fd: number | undefined;
  try {
    const opened = await openTarget(facts, { handle, size, target, mode: attributes.mode });
    fd = opened.fd;
    progress.moved(opened.start, true);
    await fetchPieces(facts, { fd, handle, start: opened.start, size });
    if (preserve) keep(fd, attributes);
  } finally {
    if (fd !== undefined) closeSync(fd);
    await closeHandle(client, handle).catch(() => {});
  }
}

function keep(fd: number, { mode, times }: Attributes): void {
  if (mode !== undefined) fchmodSync(fd, mode & 0o7777);
  if (times !== undefined) futimesSync(fd, times.accessed, times.modified);
}

interface Remote {
  readonly handle: Buffer;
  readonly size: number;
  readonly target: Buffer;
  readonly mode: number | undefined;
}

async function openTarget({ client }: CopyFacts, { handle, size, target, mode }: Remote): Promise<{ fd: number; start: number }> {
  const there: Stats | undefined = statSync(target, { throwIfNoEntry: false });
  // Opening a FIFO blocks until there is a reader, and it does not support writes at an offset.
  if (there?.isFIFO() === true || there?.isSocket() === true)
    throw new PlatformError("invalid", `could not write ${target.toString()}: not a regular file`);
  if (there?.isFile() === true && mayResume(client, there.size, size)) {
    const fd = openOwn(target);
    if (fd !== undefined && (await hasSameStart({ client, handle, fd }, there.size))) return { fd, start: there.size };
    if (fd !== undefined) closeSync(fd);
  }
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  return { fd: await atTarget(target, () => openSync(target, flags, ((mode ?? 0o666) & 0o777) | 0o200)), start: 0 };
}

function openOwn(target: Buffer): number | undefined {
  try {
    return openSync(target, constants.O_RDWR);
  } catch {
    return undefined;
  }
}
