import { randomBytes } from "node:crypto";
import { lstat, open, rename, rm } from "node:fs/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";

export interface SecretFile {
  readonly path: string;
  readonly text: string;
}

/** Throws `already_exists` when one of the paths exists. */
export async function requireFree(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const found = await lstat(path).then(
      () => true,
      () => false,
    );
    if (found) throw new PlatformError("already_exists", `${path} already exists`, { hint: "replace it with --overwrite, or choose another --out" });
  }
}

/** Writes files that only their owner may read, each atomically; a link at the path is replaced, not followed. */
export async function writeSecrets(files: readonly SecretFile[]): Promise<void> {
  for (const { path, text } of files) {
    const fresh = `${path}.${randomBytes(6).toString("hex")}.new`;
    try {
      const handle = await open(fresh, "wx", 0o600);
      try {
        await handle.chmod(0o600);
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(fresh, path);
    } catch (cause) {
      await rm(fresh, { force: true }).catch(() => {});
      throw new PlatformError("invalid", `could not write ${path}: ${errorText(cause)}`, {
        cause,
        hint: "check the folder, its owner and free space",
      });
    }
  }
}
