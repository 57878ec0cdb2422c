import { generateKeyPairSync, randomBytes } from "node:crypto";
import { lstat, open, rename, rm } from "node:fs/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { generateSshKey, toOpensshPrivate } from "../core/ssh/keys.ts";

export interface NewKeys {
  readonly sshPublic: string;
  /** OpenSSH private key file. */
  readonly sshPrivate: string;
  /** PEM. */
  readonly tlsPublic: string;
  readonly tlsPrivate: string;
}

/** Made here and kept here: only the public halves go to the auth service. */
export function newKeys(): NewKeys {
  const ssh = generateSshKey();
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    sshPublic: ssh.publicLine,
    sshPrivate: toOpensshPrivate(ssh.privateKey),
    tlsPublic: tls.publicKey.export({ type: "spki", format: "pem" }).toString(),
    tlsPrivate: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

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
