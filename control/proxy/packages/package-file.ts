import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { sep } from "node:path";

/* A file of a package repository: its path in a URL, the open file, and its media type. */

/** Maximum length of a file's path below the folder, characters. */
const maxPath = 1024;

/**
 * The part of a URL's path after `/packages/` as a relative file name. Package managers and people write `/./` and `//`, which
 * mean nothing. Undefined for anything else: a folder's path, `..` or any other name with a leading
 * dot, an encoded slash or NUL, bad encoding.
 */
export function parsePackagePath(path: string): string | undefined {
  if (path.length > maxPath) return undefined;
  let names: readonly string[];
  try {
    names = path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const steps = names.filter((name, at) => (name !== "" && name !== ".") || at === names.length - 1);
  return steps.every((name) => /^[^./\\\0][^/\\\0]*$/.test(name)) ? steps.join("/") : undefined;
}

/** An open file below the folder of packages. The caller closes the handle. */
export interface PackageFile {
  readonly handle: FileHandle;
  readonly size: number;
  /** Strong: changes whenever the file is written or replaced, even by one of the same size and time. */
  readonly etag: string;
  /** Undefined while the file is so young that it may change again within this second. */
  readonly modified: Date | undefined;
}

/** Maximum age of a file without a reliable modification time, ms. */
const youngMs = 2000;

/**
 * Opens a regular file for reading. Undefined: it does not exist, it lies outside of the folder (by symbolic links), or a name on
 * the way to it begins with a dot. The check applies to the opened file: a link cannot be swapped in between.
 */
export async function openPackage(folder: string, path: string, now: Date): Promise<PackageFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = await realpath(folder);
    // NONBLOCK: a named pipe must not hold a thread.
    handle = await open(`${root}${sep}${path}`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    const stat = await handle.stat({ bigint: true });
    if (stat.isFile() && real.startsWith(root + sep) && !real.slice(root.length).includes(`${sep}.`)) {
      const changed = new Date(Number(stat.ctimeMs));
      const modified = now.getTime() - changed.getTime() < youngMs ? undefined : changed;
      const etag = `"${[stat.size, stat.mtimeNs, stat.ctimeNs, stat.ino].map((one) => one.toString(36)).join("-")}"`;
      return { handle, size: Number(stat.size), etag, modified };
    }
  } catch (thrown) {
    await handle?.close();
    if (isAbsent(thrown)) return undefined;
    throw thrown;
  }
  await handle.close();
  return undefined;
}

const absent = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "ENXIO", "ENODEV"]);

function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && absent.has(String(thrown.code));
}

const byExtension: Readonly<Record<string, string>> = {
  deb: "application/vnd.debian.binary-package",
  rpm: "application/x-rpm",
  gz: "application/gzip",
  tgz: "application/gzip",
  bz2: "application/x-bzip2",
  xz: "application/x-xz",
  zst: "application/zstd",
  xml: "application/xml",
  json: "application/json",
  asc: "application/pgp-keys",
  gpg: "application/pgp-keys",
  sig: "application/pgp-signature",
  repo: "text/plain; charset=utf-8",
  list: "text/plain; charset=utf-8",
  sources: "text/plain; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  sh: "text/x-shellscript; charset=utf-8",
};

/** Index files of apt, which have no extension. */
const plain = new Set(["InRelease", "Release", "Packages", "SHA256SUMS"]);

/** Media type by the file's name. Nothing is ever served as HTML. */
export function mediaType(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (plain.has(name)) return "text/plain; charset=utf-8";
  if (name === "Release.gpg" || name.endsWith(".xml.asc")) return "application/pgp-signature";
  return byExtension[/\.([a-z0-9]+)$/.exec(name)?.[1] ?? ""] ?? "application/octet-stream";
}

/** A package, or an index named by its content, never changes under its name; everything else must be revalidated. */
export function isImmutable(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /\.(deb|rpm)$/.test(name) || /(^|\/)by-hash\/[A-Za-z0-9]+\/[0-9a-f]{32,128}$/.test(path) || /^[0-9a-f]{40,128}-/.test(name);
}
