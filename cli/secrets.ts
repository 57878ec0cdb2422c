import { generateKeyPairSync, randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { lstat, open, rm } from "node:fs/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { generateSshKey, toOpensshPrivate } from "../core/ssh/keys.ts";
import { catchEndings } from "./catch-endings.ts";

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

/**
 * Writes files that only their owner may read, all or none of them; a link at a path is replaced, not followed. Throws `invalid`, which names what was replaced
 * where one of the names could not be taken.
 */
export async function writeSecrets(files: readonly SecretFile[]): Promise<void> {
  const fresh = files.map((file) => ({ file, made: `${file.path}.${randomBytes(6).toString("hex")}.new` }));
  using caught = catchEndings();
  try {
    for (const one of fresh) {
      await writeFresh(one);
      caught.signal.throwIfAborted();
    }
    renameAll(fresh);
  } catch (thrown) {
    for (const { made } of fresh) await rm(made, { force: true }).catch(() => {});
    caught.end();
    throw thrown;
  }
}

interface FreshFile {
  readonly file: SecretFile;
  /** Where it is written, beside its path. */
  readonly made: string;
}

async function writeFresh({ file: { path, text }, made }: FreshFile): Promise<void> {
  try {
    await using handle = await open(made, "wx", 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (cause) {
    throw new PlatformError("invalid", `could not write ${path}: ${errorText(cause)}`, {
      cause,
      hint: "nothing was replaced; check the folder, its owner and free space",
    });
  }
}

/** In one piece, without a pause in which a signal would come through. */
function renameAll(files: readonly FreshFile[]): void {
  for (const [index, { file, made }] of files.entries()) {
    const { path } = file;
    try {
      renameSync(made, path);
    } catch (cause) {
      const names = (some: readonly FreshFile[]): string => some.map((one) => one.file.path).join(", ");
      const [done, left] = [names(files.slice(0, index)), names(files.slice(index))];
      throw new PlatformError("invalid", `could not write ${path}: ${errorText(cause)}`, {
        cause,
        hint:
          done === ""
            ? "nothing was replaced; check what is at that path"
            : `${done}: replaced; ${left}: not replaced. They do not belong together: make all again`,
      });
    }
  }
}
