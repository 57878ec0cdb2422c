import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { errorText } from "../core/errors/platform-error.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** Maximum file that is read, bytes. */
const maxBytes = 262_144;

/**
 * Text of a setting's file; undefined for a missing one. The owner of a file may be another user than root: anything but a regular file, such as
 * a pipe or a device, is refused without waiting. Throws UpgradeError `not_configured`.
 */
export async function readSetting(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw new UpgradeError("not_configured", `${path} is not a regular file`);
    return await readBounded(file, path);
  } catch (cause) {
    if (cause instanceof UpgradeError) throw cause;
    if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")) return undefined;
    throw new UpgradeError("not_configured", `could not read ${path}: ${errorText(cause)}`, { cause });
  }
}

async function readBounded(file: FileHandle, path: string): Promise<string> {
  const buffer = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    length += bytesRead;
    if (length > maxBytes) throw new UpgradeError("not_configured", `${path} is longer than ${maxBytes} bytes`);
    if (bytesRead === 0) return buffer.toString("utf8", 0, length);
  }
}
