import { mkdir, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** The folder of a process's state. */
export interface DataFolder {
  readonly dataDir: string;
  /** Identity of the folder at the start of the process, whatever a link or a mount leads to later; omitted if it could not be made or read. */
  readonly folder?: string;
}

/** The folder, made if it is not there yet, with its identity. Never throws: the services report a folder that they cannot use. */
export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch(() => {});
  const folder = await identify(dataDir);
  return { dataDir, ...(folder !== undefined && { folder }) };
}

/**
 * A reload keeps data_dir: in another folder the new process would be another host, or another cluster, and nobody would renew the certificate or send the
 * audit events of the sessions that the running one still has. Throws `invalid`. An earlier version reports the path alone, or nothing.
 */
export async function requireSameFolder(
  running: { readonly dataDir?: string | undefined; readonly folder?: string | undefined } | undefined,
  dataDir: string,
): Promise<void> {
  const before = running?.dataDir;
  if (before === undefined) return;
  const known = running?.folder;
  const [then, now] = known === undefined ? [await real(before), await real(dataDir)] : [await identify(before), await identify(dataDir)];
  // The running process goes on under the name that it knows: that must lead there still, too.
  if (then === now && (known === undefined || now === known)) return;
  const advice = "stop the service, move the folder there, and start the service again";
  if (resolve(before) !== resolve(dataDir))
    throw new PlatformError("invalid", `a reload cannot change platform.data_dir from ${before} to ${dataDir}: ${advice}`);
  throw new PlatformError(
    "invalid",
    `platform.data_dir ${dataDir} leads to another folder than when the running process started (was a link or a mount changed?): ${advice}`,
  );
}

/** `device:inode` of a folder; undefined if it cannot be read. */
async function identify(folder: string): Promise<string | undefined> {
  return await stat(folder, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  );
}

/** A folder that was moved may have left a link. */
async function real(folder: string): Promise<string> {
  return await realpath(folder).catch(() => resolve(folder));
}
