const slash = 0x2f;

/** Two parts of a path, as bytes. */
export function joinPath(folder: Buffer, name: Buffer): Buffer {
  if (folder.length === 0) return name;
  return folder.at(-1) === slash ? Buffer.concat([folder, name]) : Buffer.concat([folder, Buffer.of(slash), name]);
}

/** The last part; empty for `/`, `.` and `..`, which stand for their contents. */
export function lastPart(path: Buffer): Buffer {
  let end = path.length;
  while (end > 0 && path[end - 1] === slash) end -= 1;
  const name = path.subarray(path.lastIndexOf(slash, end - 1) + 1, end);
  return end === 0 || name.equals(Buffer.from(".")) || name.equals(Buffer.from("..")) ? Buffer.alloc(0) : name;
}
