import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Output } from "../../io.ts";

export interface HostOutputAsk {
  readonly to: Output;
  /** Name of the host and of its file; `prefixed`: written before each line. */
  readonly name: string;
  readonly prefixed: boolean;
  /** Folder for `<name>.<stream>`; undefined: not saved. */
  readonly logDir: string | undefined;
  readonly stream: "stdout" | "stderr";
  /** `to` takes no more: its reader is gone, or a write failed. */
  readonly onLost: (cause: Error) => void;
}

export interface HostOutput {
  readonly stream: Writable;
  /** Writes the remaining data. Returns the error that made the file incomplete, if any. */
  end(): Promise<PlatformError | undefined>;
}

/** One output stream of one host: its lines go to ours, its bytes to a file (0600). A file error affects only the file. */
export async function openHostOutput({ to, name, prefixed, logDir, stream, onLost }: HostOutputAsk): Promise<HostOutput> {
  const lines = lineOutput(to, prefixed ? `[${name}] ` : "");
  const log = logDir === undefined ? undefined : await openLog(join(logDir, `${name}.${stream}`));
  const copy = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const logged = log?.write(chunk) ?? Promise.resolve();
      lines.write(chunk, (error) => void logged.then(() => done(error)));
    },
  });
  // The writer learns of the error too.
  lines.on("error", onLost);
  copy.on("error", () => {});
  return {
    stream: copy,
    end: async () => {
      await ended(copy);
      await ended(lines);
      return await log?.close();
    },
  };
}

/** Resolves also when the reader went away. */
function ended(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    stream.once("close", resolve);
    stream.end();
  });
}

interface LogFile {
  write(chunk: Buffer): Promise<void>;
  close(): Promise<PlatformError | undefined>;
}

async function openLog(path: string): Promise<LogFile> {
  let failed: PlatformError | undefined;
  let handle: FileHandle | undefined;
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    if (failed !== undefined) return;
    await work().catch((cause: unknown) => {
      failed = new PlatformError("unavailable", `could not write ${path}: ${errorText(cause)}`, { cause });
    });
  };
  await attempt(async () => {
    handle = await open(path, "w", 0o600);
  });
  return {
    write: (chunk) => attempt(async () => await handle?.writeFile(chunk)),
    close: async () => {
      await attempt(async () => await handle?.close());
      return failed;
    },
  };
}

/** Maximum line length, bytes; a longer line is split into lines of this size. */
export const maxLine = 65_536;

const newline = 10;

/**
 * Passes bytes on to `to` line by line, each behind `prefix` and in one write: lines of several such streams never mix.
 * A missing end of line at the end is added. Bytes stay unchanged.
 */
export function lineOutput(to: Output, prefix: string): Writable {
  const head = Buffer.from(prefix);
  let rest: Buffer = Buffer.alloc(0);
  const lines = (chunk: Buffer): Buffer[] => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const parts: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      parts.push(head, bytes.subarray(from, end + 1));
      from = end + 1;
    }
    for (; bytes.length - from > maxLine; from += maxLine) parts.push(head, bytes.subarray(from, from + maxLine), Buffer.of(newline));
    // A copy: a small rest must not hold a large chunk.
    rest = Buffer.from(bytes.subarray(from));
    return parts;
  };
  const pass = (parts: readonly Buffer[], done: (error?: Error | null) => void): void => {
    if (parts.length === 0) done();
    else to.write(Buffer.concat(parts), done);
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => pass(lines(chunk), done),
    final: (done) => pass(rest.length === 0 ? [] : [head, rest, Buffer.of(newline)], done),
  });
}
