import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { certificatesFolder, replacePrivate } from "./profile-folder.ts";
import { certificateFiles, certificatePath, type ResourceCertificate } from "./resource-certificates.ts";

/** Stores a certificate for one resource in the profile of this proxy, in the place of the one before. Throws `invalid`. */
export async function storeCertificate(home: string, proxy: HostPort, held: ResourceCertificate): Promise<void> {
  const folder = certificatesFolder(home, proxy);
  try {
    // Without a certificate in between, so that no reader takes the new key with the old certificate.
    await rm(join(folder, certificatePath(held)), { force: true });
    for (const [path, text] of certificateFiles([held])) {
      await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
      await replacePrivate(join(folder, path), text.endsWith("\n") ? text : `${text}\n`);
    }
  } catch (cause) {
    throw new PlatformError("invalid", `could not write a certificate in ${folder}: ${errorText(cause)}`, {
      cause,
      hint: "check its owner and free space",
    });
  }
}

/** Deletes the certificates of this kind for these resources, or for all. */
export async function dropCertificates(home: string, proxy: HostPort, { kind, names }: { kind: string; names?: readonly string[] }): Promise<void> {
  const folder = certificatesFolder(home, proxy);
  if (names === undefined) {
    // The key goes last: a certificate without its key would be a damaged profile.
    const files = await readdir(join(folder, kind)).catch(() => []);
    for (const file of files.sort()) await rm(join(folder, kind, file), { force: true });
    return;
  }
  for (const name of names) {
    const files = certificateFiles([{ kind, name, certificate: "", privateKey: "" }]).map(([path]) => path);
    for (const path of files.reverse()) await rm(join(folder, path), { force: true });
  }
}
