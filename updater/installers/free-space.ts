import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Bytes that will be written below a folder. */
export interface SpaceNeed {
  readonly folder: string;
  readonly bytes: number;
}

/** What a file system of the host has. */
export interface FileSystem {
  readonly id: number;
  readonly free: number;
}

/** What is left to the host: databases of packages, logs, and whatever else grows meanwhile. */
const reserve = 32 * 1_048_576;

/**
 * A sentence naming the first file system that would have less than 32 MiB left; needs on the same one add up. Undefined: enough.
 */
export async function spaceShortage(needs: readonly SpaceNeed[]): Promise<string | undefined> {
  const found = await Promise.all(needs.map(async (need) => ({ ...need, on: await fileSystemOf(need.folder) })));
  return findShortage(found);
}

export function findShortage(needs: readonly (SpaceNeed & { readonly on: FileSystem })[]): string | undefined {
  for (const { folder, on } of needs) {
    const bytes = needs.filter((need) => need.on.id === on.id).reduce((sum, need) => sum + need.bytes, reserve);
    if (bytes > on.free) return `${folder} is on a file system with ${megabytes(on.free)} MB free, and ${megabytes(bytes)} MB are needed there`;
  }
  return undefined;
}

function megabytes(bytes: number): string {
  return String(Math.ceil(bytes / 1_000_000));
}

/** Of the folder, or of the nearest one above it that exists. */
async function fileSystemOf(folder: string): Promise<FileSystem> {
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(folder), statfs(folder)]);
    return { id: dev, free: bavail * bsize };
  } catch (thrown) {
    if (folder === "/") throw thrown;
    return await fileSystemOf(dirname(folder));
  }
}
