import type { Dirent } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

export interface BackupFiles {
  /** Databases: SQLite copies them. */
  readonly databases: readonly string[];
  /** Files to copy unchanged, and the folders of the databases and files, outer ones first. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/**
 * Left out: the files of recordings (many, and each is written once, so that rsync copies them well), data that waits to be sent
 * on, and data that the auth service recreates at its start: the admin's credentials, its reserve on the disk.
 */
const left = ["auth/recordings", "proxy/recordings", "agent/recordings", "agent/audit", "auth/admin.json", "auth/reserve"];

/** Everything below the data folder that a cluster needs after a restore. */
export async function dataFiles(dataDir: string): Promise<BackupFiles> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const pathOf = (entry: Dirent): string => join(entry.parentPath, entry.name);
  const isWanted = (path: string): boolean => isDatabase(path) || !isLeft(relative(dataDir, path));
  const wanted = entries
    .filter((entry) => entry.isFile())
    .map(pathOf)
    .filter(isWanted);
  const databases = wanted.filter(isDatabase);
  const files = wanted.filter((path) => !/\.sqlite(-wal|-shm|-journal)?$/.test(path));
  const folders = new Set([dataDir]);
  for (const path of wanted) folders.add(dirname(path));
  return { databases: databases.sort(), files: files.sort(), folders: [...folders].sort() };
}

function isDatabase(path: string): boolean {
  return path.endsWith(".sqlite");
}

function isLeft(path: string): boolean {
  return left.some((one) => path === one || path.startsWith(`${one}/`)) || /(^|\/)[^/]*\.(new|pid|sock)$/.test(path);
}

/** The configuration file and the files that it names (certificates, keys, a token), as far as they exist. */
export async function configFiles(file: string, text: string | undefined): Promise<readonly string[]> {
  if (text === undefined) return [];
  const { parse } = await import("yaml");
  const named = [...namedFiles(parse(text, { maxAliasCount: 100 }) as unknown)];
  const found = await Promise.all(named.map(async (path) => ((await isFile(path)) ? [path] : [])));
  return [...new Set([file, ...found.flat()])];
}

/** Values of `auth_token` and of keys like `cert_file` that are absolute paths. */
function* namedFiles(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "object") yield* namedFiles(inner);
    else if (typeof inner === "string" && inner.startsWith("/") && (key.endsWith("_file") || key === "auth_token")) yield inner;
  }
}

async function isFile(path: string): Promise<boolean> {
  return await lstat(path).then(
    (facts) => facts.isFile() || facts.isSymbolicLink(),
    () => false,
  );
}

/** The text of a file, or undefined when it does not exist. */
export async function readIfThere(file: string): Promise<string | undefined> {
  return await readFile(file, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw thrown;
  });
}
