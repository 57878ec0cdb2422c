import { createReadStream } from "node:fs";
import { type FileHandle, lstat, open, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as immediate } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import { createGzip } from "node:zlib";
import { errorText, failureParts, PlatformError } from "../../../core/errors/platform-error.ts";
import { catchEndings } from "../../catch-endings.ts";
import type { Call } from "../../command.ts";
import type { Result } from "../../output.ts";
import { placeFile } from "../../place-file.ts";
import { hostConfig } from "../host-config.ts";
import { configFiles, dataFiles, readIfThere } from "./backup-files.ts";
import { openPartFolder, type PartFolder } from "./part-folder.ts";
import { type TarEntry, tarEnd, tarHeader, tarPadding } from "./tar-header.ts";

const defaultFile = "/etc/platform.yaml";
/** The service's environment file; it holds the HTTP proxy's password. */
const environmentFile = "/etc/default/platform";

/**
 * `tctl backup FILE`: everything that is needed to restore this auth host elsewhere, as one archive that `tar -xpf FILE -C /` unpacks.
 * The databases are copied at one point in time, even while the service writes. FILE appears when it is complete on the disk.
 */
export async function backup(call: Call): Promise<Result> {
  const file = resolve(call.args[0] ?? "");
  const { dataDir } = await hostConfig(call);
  await requireAuthHost(dataDir);
  await requireNothing(file);
  using caught = catchEndings();
  try {
    const { size, files } = await make(call, { file, dataDir: resolve(dataDir) }, caught.signal);
    return { data: { file, size, files }, text: describe(file, size, files), notes: [secretNote] };
  } catch (thrown) {
    // What is left behind has to be named first.
    if (failureParts(thrown).length === 1) caught.end();
    throw thrown;
  }
}

/** The archive, from the first copy until it has its name. Nothing stays beside it, however this ends. */
async function make(
  call: Call,
  { file, dataDir }: { readonly file: string; readonly dataDir: string },
  signal: AbortSignal,
): Promise<{ readonly size: number; readonly files: readonly string[] }> {
  await using part = await openPartFolder(dirname(file));
  try {
    const sources = await collect(call, dataDir, { part, signal });
    const made = part.inside("archive");
    const size = await writeArchive(made, sources, signal);
    signal.throwIfAborted();
    await placeFile(made, file);
    await syncFolder(file);
    return { size, files: sources.filter(({ from }) => from !== undefined).map(({ path }) => path) };
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") throw existsError(file);
    throw new PlatformError("unavailable", `could not write ${file}: ${errorText(cause)}`, {
      cause,
      hint: "nothing was left behind; check the folder, its owner and free space (twice the size of the databases)",
    });
  }
}

const secretNote = "It holds the cluster's private keys: anyone who has it can make certificates for any user. Protect it like root's password.";

function describe(file: string, size: number, files: readonly string[]): string {
  const lines = files.map((path) => `  ${path}`).join("\n");
  return `${file}: ${size < 1e6 ? `${Math.ceil(size / 1e3)} kB` : `${(size / 1e6).toFixed(1)} MB`}\n${lines}\nRecordings of sessions are not in it. How to restore it: docs/operations.md`;
}

async function collect(
  call: Call,
  dataDir: string,
  { part, signal }: { readonly part: PartFolder; readonly signal: AbortSignal },
): Promise<readonly ArchiveSource[]> {
  const config = resolve(call.options.text("config") ?? defaultFile);
  const { databases, files, folders } = await dataFiles(dataDir);
  const own = await configFiles(config, await readIfThere(config));
  const environment = config === defaultFile && (await readIfThere(environmentFile)) !== undefined ? [environmentFile] : [];
  const copies: ArchiveSource[] = [];
  for (const [index, path] of databases.entries()) {
    copies.push({ path, from: copyDatabase(path, part.inside(String(index))) });
    // A copy holds everything up: signals come in between.
    await immediate();
    signal.throwIfAborted();
  }
  const plain = [...files, ...own, ...environment].map((path) => ({ path, from: path }));
  return [...folders.map((path) => ({ path })), ...copies, ...plain];
}

/** Copies the database at this moment into its own file. Writers continue. */
function copyDatabase(path: string, copy: string): string {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 30_000 });
  // SQLite goes by the path: where somebody swaps the folder at that moment, nobody else can read the file. Threads of tests cannot set it.
  const before = isMainThread ? process.umask(0o077) : undefined;
  try {
    database.prepare("VACUUM INTO ?").run(copy);
    return copy;
  } finally {
    if (before !== undefined) process.umask(before);
    database.close();
  }
}

async function requireAuthHost(dataDir: string): Promise<void> {
  const state = join(dataDir, "auth", "state.sqlite");
  const facts = await lstat(state).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "EACCES") throw new PlatformError("denied", `this user may not read ${state}`, { cause, hint: "run it as root" });
    throw new PlatformError("not_found", `${state} does not exist: this is not the auth host, or its data is elsewhere`, {
      cause,
      hint: "run it on the auth host, with --data-dir or --config when its data is elsewhere",
    });
  });
  // SQLite creates files beside a database; the service refuses those of another user.
  const me = process.getuid?.();
  if (me !== undefined && facts.uid !== me) {
    throw new PlatformError("denied", `${state} belongs to user ${facts.uid}, and this is user ${me}`, {
      hint: `run it as: sudo -u '#${facts.uid}' tctl backup`,
    });
  }
}

async function requireNothing(file: string): Promise<void> {
  const isThere = await lstat(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw existsError(file);
}

function existsError(file: string): PlatformError {
  return new PlatformError("already_exists", `${file} already exists`, { hint: "choose another name: a backup never replaces one" });
}

/** So that the name survives a power failure too. */
async function syncFolder(file: string): Promise<void> {
  try {
    await using handle = await open(dirname(file), "r");
    await handle.sync();
  } catch (cause) {
    throw new PlatformError("unavailable", `${file} is complete, but its folder could not be written to the disk: ${errorText(cause)}`, {
      cause,
      hint: "run sync, and check that the file is there",
    });
  }
}

/** One entry of the archive: at `path` from the root of the file system, with the content of `from` and the owner and mode of `path`. */
interface ArchiveSource {
  readonly path: string;
  /** Left out: the entry is a folder. */
  readonly from?: string;
}

/** Larger files are streamed: a small one is read at once, since it may change meanwhile. */
const atOnce = 1024 * 1024;

/** Writes a compressed tar archive with paths relative to `/`, 0600, and syncs it to the disk. Links are followed. Returns its size. */
async function writeArchive(file: string, sources: readonly ArchiveSource[], signal: AbortSignal): Promise<number> {
  await using handle: FileHandle = await open(file, "wx", 0o600);
  const written = pipeline(Readable.from(blocks(sources)), createGzip({ level: 1 }), async (compressed: AsyncIterable<Buffer>) => {
    // At the handle's position: one after the other.
    for await (const chunk of compressed) await handle.writeFile(chunk);
  });
  const stopped = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => stopped.reject(signal.reason), { once: true });
  if (signal.aborted) stopped.reject(signal.reason);
  // A file that cannot be read would hold up the end as well.
  await Promise.race([written, stopped.promise]);
  await handle.sync();
  return (await handle.stat()).size;
}

async function* blocks(sources: readonly ArchiveSource[]): AsyncGenerator<Buffer> {
  for (const { path, from } of sources) {
    const facts = await stat(path);
    const entry: TarEntry = { path: path.slice(1), mode: facts.mode, uid: facts.uid, gid: facts.gid, size: 0, mtime: facts.mtimeMs / 1000 };
    if (from === undefined) yield tarHeader({ ...entry, path: `${entry.path}/` });
    else yield* content(entry, from);
  }
  yield tarEnd;
}

async function* content(entry: TarEntry, from: string): AsyncGenerator<Buffer> {
  const { size } = await stat(from);
  if (size <= atOnce) {
    const bytes = await readFile(from);
    yield tarHeader({ ...entry, size: bytes.length });
    yield bytes;
    yield tarPadding(bytes.length);
    return;
  }
  yield tarHeader({ ...entry, size });
  let read = 0;
  for await (const chunk of createReadStream(from, { end: size - 1 }) as AsyncIterable<Buffer>) {
    read += chunk.length;
    yield chunk;
  }
  if (read !== size) throw new PlatformError("conflict", `${from} became shorter while it was being read`, { hint: "make the backup again" });
  yield tarPadding(size);
}
