import { renameSync, rmSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { besideOf, movedAside, writePrivate } from "./private-file.ts";
import { certificatesFolder, profileName, readFacts } from "./profile-folder.ts";
import { changingProfiles, removingFromProfiles } from "./profile-lock.ts";
import { certificateFiles, certificatePaths, type ResourceCertificate } from "./resource-certificates.ts";

/**
 * Stores a certificate for one resource in the profile of this proxy, in the place of the one before, which stays when this fails. Throws `invalid`, `timeout`,
 * `unauthenticated` after a logout.
 */
export async function storeCertificate(home: string, proxy: HostPort, held: ResourceCertificate): Promise<void> {
  const folder = certificatesFolder(home, proxy);
  const fresh = certificateFiles([held]).map(([file, text]) => ({ path: join(folder, file), made: besideOf(join(folder, file)), text }));
  await changingProfiles(home, async () => {
    if ((await readFacts(home, profileName(proxy))) === undefined) {
      throw new PlatformError("unauthenticated", `not logged in at ${proxy.host}:${proxy.port} any more`, { hint: "log in again with: tsh login" });
    }
    try {
      for (const { made, text } of fresh) {
        await mkdir(dirname(made), { recursive: true, mode: 0o700 });
        await writePrivate(made, text.endsWith("\n") ? text : `${text}\n`);
      }
      takeNames(join(folder, certificatePaths(held).certificate), fresh);
      // What an earlier tsh wrote for this kind and this one does not: it would be an expired certificate, with a key, for good.
      const written = new Set(fresh.map(({ path }) => path));
      for (const path of Object.values(certificatePaths(held)).map((file) => join(folder, file)))
        if (!written.has(path)) await rm(path, { force: true });
    } catch (cause) {
      throw new PlatformError("invalid", `could not write a certificate in ${folder}: ${errorText(cause)}`, {
        cause,
        hint: "check its owner and free space",
      });
    } finally {
      for (const { made } of fresh) await rm(made, { force: true }).catch(() => {});
    }
  });
}

interface FreshFile {
  readonly path: string;
  /** Where it is written, beside its path. */
  readonly made: string;
}

/** In one piece, and without a certificate in between, so that no reader takes the new key with the old certificate. */
function takeNames(certificate: string, fresh: readonly FreshFile[]): void {
  const old = `${besideOf(certificate)}.old`;
  const hadOne = movedAside(certificate, old);
  let taken = 0;
  try {
    for (; taken < fresh.length; taken += 1) renameSync(fresh[taken]?.made ?? "", fresh[taken]?.path ?? "");
  } catch (thrown) {
    if (hadOne && taken === 0) renameSync(old, certificate);
    throw thrown;
  } finally {
    rmSync(old, { force: true });
  }
}

/** Deletes the certificates of this kind for these resources, or for all. Throws `invalid`. */
export async function dropCertificates(home: string, proxy: HostPort, { kind, names }: { kind: string; names?: readonly string[] }): Promise<void> {
  const folder = certificatesFolder(home, proxy);
  await removingFromProfiles(home, async () => {
    try {
      // The key goes last: a certificate without its key would be a damaged profile.
      for (const path of names === undefined ? await allFiles(folder, kind) : filesOf(kind, names)) await rm(join(folder, path), { force: true });
    } catch (cause) {
      throw new PlatformError("invalid", `could not remove the certificates in ${join(folder, kind)}: ${errorText(cause)}`, {
        cause,
        hint: "they may still be valid: check the owner of the folder, and try again",
      });
    }
  });
}

async function allFiles(folder: string, kind: string): Promise<readonly string[]> {
  const files = await readdir(join(folder, kind)).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return [];
    throw cause;
  });
  return files.sort().map((file) => join(kind, file));
}

function filesOf(kind: string, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => Object.values(certificatePaths({ kind, name })).reverse());
}
