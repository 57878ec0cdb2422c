import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Output } from "../../io.ts";
import { lineOutput } from "./line-output.ts";

export interface HostOutputAsk {
  readonly to: Output;
  /** Name of the host and of its file; `prefixed`: written before each line. */
  readonly name: string;
  readonly prefixed: boolean;
  /** Folder for `<name>.<stream>`; undefined: not saved. */
  readonly logDir: string | undefined;
  readonly stream: "stdout" | "stderr";
  /** The reader of `to` is gone. */
  readonly onGone: () => void;
}

export interface HostOutput {
  readonly stream: Writable;
  /** Writes the remaining data. Returns the error that made the file incomplete, if any. */
  end(): Promise<PlatformError | undefined>;
}

/** One output stream of one host: its lines go to ours, its bytes to a file (0600). A file error affects only the file. */
export async function openHostOutput({ to, name, prefixed, logDir, stream, onGone }: HostOutputAsk): Promise<HostOutput> {
  const lines = lineOutput(to, prefixed ? `[${name}] ` : "");
  const log = logDir === undefined ? undefined : await openLog(join(logDir, `${name}.${stream}`));
  const copy = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const logged = log?.write(chunk) ?? Promise.resolve();
      lines.write(chunk, (error) => void logged.then(() => done(error)));
    },
  });
  // The writer learns of the error too.
  lines.on("error", onGone);
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
