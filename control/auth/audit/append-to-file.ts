import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";

export interface ShippedFile {
  readonly path: string;
  /** Maximum size of the file, bytes; a larger one is renamed to `<path>.1`, which becomes `.2`, and so on. */
  readonly maxBytes: number;
  /** Number of renamed files that are kept. */
  readonly keep: number;
}

/**
 * Appends lines, durable when it returns. The file is opened again each time: a rotation program may rename it away, and the
 * next lines start another. A partial line left by a kill or a full disk is cut off first: it is written again. Mode 0640.
 */
export async function appendToFile(file: ShippedFile, lines: readonly string[]): Promise<void> {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  await mkdir(dirname(file.path), { recursive: true, mode: 0o750 });
  let handle = await openShared(file.path);
  try {
    const size = await cutTornLine(handle);
    if (size > 0 && size + bytes.length > file.maxBytes) {
      await handle.close();
      await rotate(file);
      handle = await openShared(file.path);
    }
    await writeWhole(handle, bytes);
  } finally {
    await handle.close();
  }
}

async function openShared(path: string): Promise<FileHandle> {
  const { O_RDWR, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw new Error(`${path} is not a regular file`);
    if ((facts.mode & 0o137) !== 0) await handle.chmod(facts.mode & 0o640);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Atomic: a failed write leaves nothing behind. */
async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await handle.stat();
  try {
    await handle.appendFile(bytes);
    await handle.datasync();
  } catch (thrown) {
    await handle.truncate(size).catch(() => {});
    throw thrown;
  }
}

/** More than the length of any line. */
const tail = 131_072;
const newline = 10;

/** The size of the complete lines. */
async function cutTornLine(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  if (size === 0) return 0;
  const from = Math.max(0, size - tail);
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - from), position: from });
  const end = buffer.subarray(0, bytesRead).lastIndexOf(newline) + 1;
  // A file without any end of line is not ours: it stays unchanged.
  const whole = end === 0 && from > 0 ? size : from + end;
  if (whole < size) await handle.truncate(whole);
  return whole;
}

async function rotate({ path, keep }: ShippedFile): Promise<void> {
  for (let number = keep - 1; number >= 1; number -= 1) {
    if (existsSync(`${path}.${number}`)) await rename(`${path}.${number}`, `${path}.${number + 1}`);
  }
  await rename(path, `${path}.1`);
}
