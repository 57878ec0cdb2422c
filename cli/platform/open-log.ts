import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { PlatformConfig } from "../../core/config/platform-config.ts";
import { createLog, type Log, type LogLevel } from "../../core/log/log.ts";
import type { CliIo } from "../io.ts";

export interface OpenLog extends AsyncDisposable {
  readonly log: Log;
}

/** Maximum output that waits for a slow disk or terminal, bytes; further lines are lost. */
const maxWaiting = 8 * 1024 * 1024;

/** The log as configured. `level` overrides its severity. */
export async function openLog(settings: PlatformConfig["platform"]["log"], io: CliIo, level: LogLevel = settings.severity): Promise<OpenLog> {
  const own = settings.output !== "stderr" && settings.output !== "stdout";
  if (own) await mkdir(dirname(settings.output), { recursive: true });
  const stream = own ? createWriteStream(settings.output, { flags: "a", mode: 0o600 }) : settings.output === "stdout" ? io.stdout : io.stderr;
  if (own) stream.on("error", (error: Error) => io.stderr.write(`ERROR: could not write the log: ${error.message}\n`));
  const write = (line: string): void => {
    if (stream.writableLength < maxWaiting && !stream.destroyed) stream.write(line);
  };
  const log = createLog({ level, format: settings.format.output, write });
  return {
    log,
    [Symbol.asyncDispose]: async () => {
      if (own && !stream.destroyed) await new Promise<void>((resolve) => stream.end(resolve));
    },
  };
}
