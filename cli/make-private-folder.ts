import { mkdir } from "node:fs/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";

/**
 * Makes a folder that only its owner may enter, and those above it; one that is there stays as it is. `option`: the one that named the path. Throws `invalid`, for
 * an option `unavailable`: the output has no place.
 */
export async function makePrivateFolder(path: string, option?: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const hint = "check the folder, its owner and free space";
    const text = `could not create ${path}: ${errorText(cause)}`;
    throw option === undefined
      ? new PlatformError("invalid", text, { cause, hint })
      : new PlatformError("unavailable", `${option}: ${text}`, { cause, hint });
  }
}
