import { readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { CliIo } from "../io.ts";

/** Maximum size of a resource file, bytes. */
const maxInput = 4 * 1024 * 1024;

/** A whole file, or standard input for `-`. */
export async function readInput(io: CliIo, file: string): Promise<string> {
  const text =
    file === "-"
      ? await readAll(io)
      : await readFile(file, "utf8").catch((cause: Error) => refuse(`could not read ${file}: ${cause.message}`, cause));
  if (text.length > maxInput) refuse(`${file === "-" ? "standard input" : file} is longer than ${maxInput} bytes`);
  return text;
}

async function readAll(io: CliIo): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of io.stdin) {
    const bytes = Buffer.from(chunk as Buffer | string);
    chunks.push(bytes);
    length += bytes.length;
    if (length > maxInput) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refuse(message: string, cause?: Error): never {
  throw new PlatformError("invalid", message, { cause });
}
