import { readlinkSync, realpathSync } from "node:fs";

const slash = 0x2f;
/** Maximum links followed, as in the kernel. */
const maxLinks = 40;

/** The absolute path without links and dots. As in OpenSSH, the last part need not exist. Throws the system's error. */
export function realPath(path: Buffer, links = 0): Buffer {
  try {
    return realpathSync.native(path, { encoding: "buffer" });
  } catch (thrown) {
    const { parent, name } = split(path);
    const isDots = name.equals(Buffer.from(".")) || name.equals(Buffer.from(".."));
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT" || name.length === 0 || isDots) throw thrown;
    const folder = realpathSync.native(parent, { encoding: "buffer" });
    const whole = join(folder, name);
    const target = linkTarget(whole);
    if (target === undefined) return whole;
    if (links >= maxLinks) throw thrown;
    return realPath(target[0] === slash ? target : join(folder, target), links + 1);
  }
}

function linkTarget(path: Buffer): Buffer | undefined {
  try {
    return readlinkSync(path, { encoding: "buffer" });
  } catch {
    return undefined;
  }
}

function split(path: Buffer): { parent: Buffer; name: Buffer } {
  let end = path.length;
  while (end > 1 && path[end - 1] === slash) end -= 1;
  const at = path.lastIndexOf(slash, end - 1);
  const parent = at < 0 ? Buffer.from(".") : path.subarray(0, Math.max(at, 1));
  return { parent, name: path.subarray(at + 1, end) };
}

function join(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 1 && folder[0] === slash ? Buffer.concat([folder, name]) : Buffer.concat([folder, Buffer.of(slash), name]);
}
