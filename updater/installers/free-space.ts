import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Bytes that will be written below a folder. */
export interface SpaceNeed {
  readonly folder: string;
  readonly bytes: number;
}

/** Free space of a file system. */
export interface FileSystem {
  readonly id: number;
  readonly free: number;
}

/** Reserve for the host: databases of packages, logs, and other growing files. */
const reserve = 32 * 1_048_576;

/**
 * A sentence naming the first file system that would have less than 32 MiB left; needs on the same one add up. Undefined if there is enough.
 */
export async function spaceShortage(needs: readonly SpaceNeed[]): Promise<string | undefined> {
  const found = await Promise.all(needs.map(async (need) => ({ ...need, on: await fileSystemOf(need.folder) })));
  return findShortage(found);
}

export function findShortage(needs: readonly (SpaceNeed & { readonly on: FileSystem })[]): string | undefined {
  for (const { folder, on } of needs) {
    const bytes = needs.filter((need) => need.on.id === on.id).reduce((sum, need) => sum + need.bytes, reserve);
    if (bytes > on.free) return `${folder} is on a file system with ${megabytes(on.free)} MB free, but ${megabytes(bytes)} MB are needed there`;
  }
  return undefined;
}

function megabytes(bytes: number): string {
  return String(Math.ceil(bytes / 1_000_000));
}

/** Free space of the folder, or of its nearest existing parent. */
async function fileSystemOf(folder: string): Promise<FileSystem> {
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(folder), statfs(folder)]);
    return { id: dev, free: bavail * bsize };
  } catch (thrown) {
    if (folder === "/") throw thrown;
    return await fileSystemOf(dirname(folder));
  }
}
