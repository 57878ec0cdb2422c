import { chmodSync, mkdirSync, readdirSync, type Stats, statSync, utimesSync } from "node:fs";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../core/sftp/attributes.ts";
import { listFolder, makeFolder, setPath, statPath } from "../../core/sftp-client/sftp-calls.ts";
import { joinPath } from "./copy-paths.ts";
import type { CopyFacts } from "./copy-state.ts";
import { downloadFile } from "./download-file.ts";
import { atTarget, type FileQueue } from "./file-queue.ts";
import { kept, uploadFile } from "./upload-file.ts";

/** OpenSSH's maximum depth: it ends symlink loops. */
const maxDepth = 64;

export interface Tree {
  readonly facts: CopyFacts;
  /** Files wait here for their turn; folders are made at once. */
  readonly queue: FileQueue;
  /** Work for after all files: a folder's time changes with each file, and its mode may forbid them. */
  readonly later: (() => void | Promise<void>)[];
  readonly recursive: boolean;
}

interface Pair {
  readonly source: Buffer;
  readonly target: Buffer;
  readonly depth?: number;
}

/** Sends a file, or with `recursive` a folder with its contents; links are followed, as scp does. */
export async function sendTree(tree: Tree, { source, target, depth = 0 }: Pair): Promise<void> {
  const name = source.toString();
  const stats = statSync(source);
  if (!stats.isDirectory()) return await tree.queue.add(name, () => uploadFile(tree.facts, { source, target, name }));
  checkFolder(tree, depth);
  const { client, preserve } = tree.facts;
  // We need write access to it until its contents are complete.
  await atTarget(target, makeRemoteFolder(tree.facts, target, (stats.mode & 0o777) | 0o700));
  for (const entry of readdirSync(source, { encoding: "buffer" })) {
    const child = { source: joinPath(source, entry), target: joinPath(target, entry), depth: depth + 1 };
    await attempt(tree, child.source, () => sendTree(tree, child));
  }
  if (!preserve && (stats.mode & 0o700) === 0o700) return;
  tree.later.push(() => setPath(client, target, preserve ? kept(stats) : { mode: stats.mode & 0o777 }));
}

async function makeRemoteFolder({ client }: CopyFacts, target: Buffer, mode: number): Promise<void> {
  try {
    await makeFolder(client, target, mode);
  } catch (thrown) {
    const there = await statPath(client, target);
    if (there === undefined || kindOf(there) !== "folder") throw thrown;
  }
}

/** Fetches a file, or with `recursive` a folder with its contents. `attributes` are those of a link's target. */
export async function fetchTree(tree: Tree, { source, target, depth = 0, attributes }: Pair & { readonly attributes: Attributes }): Promise<void> {
  const name = source.toString();
  if (kindOf(attributes) !== "folder") return await tree.queue.add(name, () => downloadFile(tree.facts, { source, attributes, target, name }));
  checkFolder(tree, depth);
  const mode = (attributes.mode ?? 0o755) & 0o777;
  await atTarget(target, () => makeLocalFolder(target, mode | 0o700));
  for await (const file of listFolder(tree.facts.client, source)) {
    const child = { source: joinPath(source, file.name), target: joinPath(target, file.name), depth: depth + 1 };
    await attempt(tree, child.source, async () =>
      fetchTree(tree, { ...child, attributes: await followed(tree.facts, child.source, file.attributes) }),
    );
  }
  if (!tree.facts.preserve && (mode & 0o700) === 0o700) return;
  const { preserve } = tree.facts;
  tree.later.push(() => {
    chmodSync(target, preserve ? (attributes.mode ?? 0o755) & 0o7777 : mode);
    if (preserve && attributes.times !== undefined) utimesSync(target, attributes.times.accessed, attributes.times.modified);
  });
}

/** Waits for all files, then does the postponed work: children before their parents. */
export async function finishTree({ queue, later }: Tree): Promise<void> {
  await queue.settle();
  for (const change of later) {
    try {
      await change();
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "unavailable") throw thrown;
      queue.failed("the time or mode of a folder", thrown);
    }
  }
}

async function followed({ client }: CopyFacts, path: Buffer, attributes: Attributes): Promise<Attributes> {
  const kind = kindOf(attributes);
  if (kind !== "link" && kind !== "unknown") return attributes;
  const found = await statPath(client, path);
  if (found === undefined) throw new PlatformError("not_found", "No such file or directory (a dangling link)");
  return found;
}

function makeLocalFolder(target: Buffer, mode: number): void {
  const there: Stats | undefined = statSync(target, { throwIfNoEntry: false });
  if (there?.isDirectory() !== true) mkdirSync(target, mode);
}

function checkFolder({ recursive }: Tree, depth: number): void {
  if (!recursive) throw new PlatformError("invalid", "this is a folder", { hint: "copy folders with -r" });
  if (depth > maxDepth) throw new PlatformError("limit", `folders are nested more than ${maxDepth} levels deep: is there a symlink loop?`);
}

/** The failure of one file does not stop the others; a lost connection does. */
async function attempt({ queue }: Tree, path: Buffer, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unavailable") throw thrown;
    queue.failed(path.toString(), thrown);
  }
}
