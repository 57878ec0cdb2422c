import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/**
 * A reload keeps data_dir: in another folder the new process would be another host, or another cluster, and nobody would renew the certificate or send the
 * audit events of the sessions that the running one still has. Throws `invalid`. `running` is without a folder in an earlier version.
 */
export async function requireSameFolder(running: { readonly dataDir?: string | undefined } | undefined, dataDir: string): Promise<void> {
  const before = running?.dataDir;
  if (before === undefined || (await real(before)) === (await real(dataDir))) return;
  throw new PlatformError(
    "invalid",
    `a reload cannot change platform.data_dir from ${before} to ${dataDir}: stop the service, move the folder there, and start the service again`,
  );
}

/** A folder that was moved may have left a link. */
async function real(folder: string): Promise<string> {
  return await realpath(folder).catch(() => resolve(folder));
}
