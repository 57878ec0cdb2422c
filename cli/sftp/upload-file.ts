import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../core/sftp/attributes.ts";
import { openFlags } from "../../core/sftp/numbers.ts";
import type { Response } from "../../core/sftp/response.ts";
import { closeHandle, failureOf, openFile, setOpenFile, statPath } from "../../core/sftp-client/sftp-calls.ts";
import { type CopyFacts, UnderWay } from "./copy-state.ts";
import { atTarget } from "./file-queue.ts";
import { hasSameStart, mayResume } from "./find-resume.ts";

interface Upload {
  readonly source: Buffer;
  readonly target: Buffer;
  /** Name for messages and the progress. */
  readonly name: string;
}

/** Data that was read, until it is copied into its request. */
const scratch = Buffer.allocUnsafe(255 * 1024);

/**
 * Sends a file to its target, as scp does: into an existing file, which keeps its owner, mode and links. Data that is
 * already there is not sent again when it is proven to be identical. Throws PlatformError, and the system's errors of the local file.
 */
export async function uploadFile(facts: CopyFacts, { source, target, name }: Upload): Promise<void> {
  // Does not wait for a writer: it may be a FIFO.
  const fd = openSync(source, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new PlatformError("invalid", "not a regular file");
    facts.progress.begin(name, stats.size);
    const { handle, start } = await openTarget(facts, { fd, stats, target });
    let isClosed = false;
    try {
      facts.progress.moved(start, true);
      await sendFrom(facts, { fd, handle, start });
      if (facts.preserve) await setOpenFile(facts.client, handle, kept(stats));
      isClosed = true;
      await closeHandle(facts.client, handle);
    } finally {
      if (!isClosed) await closeHandle(facts.client, handle).catch(() => {});
    }
  } finally {
    closeSync(fd);
  }
}

/** Attributes that `-p` keeps. */
export function kept(stats: Stats): Attributes {
  return { mode: stats.mode & 0o7777, times: { accessed: Math.floor(stats.atimeMs / 1000), modified: Math.floor(stats.mtimeMs / 1000) } };
}

interface Local {
  readonly fd: number;
  readonly stats: Stats;
  readonly target: Buffer;
}

async function openTarget({ client }: CopyFacts, { fd, stats, target }: Local): Promise<{ handle: Buffer; start: number }> {
  const attributes = { mode: stats.mode & 0o777 };
  const there = mayResume(client, stats.size, stats.size) ? await statPath(client, target) : undefined;
  const size = there !== undefined && kindOf(there) === "regular" ? Number(there.size ?? 0n) : 0;
  if (mayResume(client, size, stats.size)) {
    const handle = await openFile(client, target, { flags: openFlags.read | openFlags.write }).catch(() => undefined);
    if (handle !== undefined && (await hasSameStart({ client, handle, fd }, size))) return { handle, start: size };
    if (handle !== undefined) await closeHandle(client, handle);
  }
  const flags = openFlags.write | openFlags.create | openFlags.truncate;
  return { handle: await atTarget(target, openFile(client, target, { flags, attributes })), start: 0 };
}

interface Sending {
  readonly fd: number;
  readonly handle: Buffer;
  readonly start: number;
}

/** Many writes are in flight; the first refusal ends the transfer. */
async function sendFrom({ client, budget, progress }: CopyFacts, { fd, handle, start }: Sending): Promise<void> {
  const underWay = new UnderWay();
  const size = client.limits.write;
  for (let offset = start; underWay.failure === undefined; ) {
    await client.ready();
    await budget.take(size);
    const count = readSync(fd, scratch, 0, size, offset);
    if (count === 0) {
      budget.give(size);
      break;
    }
    underWay.begin();
    client.send({ type: "write", handle, offset: BigInt(offset), data: scratch.subarray(0, count) }, (response) => {
      budget.give(size);
      const failure = refusalOf(response);
      if (failure === undefined) progress.moved(count);
      underWay.end(failure);
    });
    offset += count;
  }
  await underWay.settle();
}

function refusalOf(response: Response | PlatformError): PlatformError | undefined {
  if (response instanceof PlatformError) return response;
  return response.type === "status" && response.status === "ok" ? undefined : failureOf(response);
}
