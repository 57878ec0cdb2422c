/* Absolute paths of a host, as bytes: names there need not be UTF-8. */

const slash = 0x2f;

/** Path of what has this name in a folder. */
export function inside(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat(isRoot(folder) ? [folder, name] : [folder, Buffer.from("/"), name]);
}

/** The folder that has it; that of the root is itself. */
export function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(slash), 1));
}

export function isRoot(path: Buffer): boolean {
  return path.length === 1 && path[0] === slash;
}
