import { open, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { BuildArch } from "../build/build-target.ts";

/** `e_machine` of ELF (elf.h). */
const machines: Readonly<Record<BuildArch, number>> = { x64: 62, arm64: 183 };
const magic = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);

/**
 * How many programs and libraries a folder holds. Throws if one of them is for another architecture: a node would find that out.
 *
 *     0       4                    18        20
 *     7f E L F  … identification …   machine    (little-endian, as both architectures are)
 */
export async function checkMachine(root: string, arch: BuildArch): Promise<number> {
  let count = 0;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const machine = await machineOf(path);
    if (machine === undefined) continue;
    if (machine !== machines[arch]) throw new Error(`${relative(root, path)} is for another machine than ${arch} (ELF machine ${machine})`);
    count += 1;
  }
  return count;
}

/** Undefined for anything but ELF. */
async function machineOf(path: string): Promise<number | undefined> {
  await using file = await open(path);
  const head = Buffer.alloc(20);
  const { bytesRead } = await file.read(head, 0, head.length, 0);
  return bytesRead === head.length && head.subarray(0, 4).equals(magic) ? head.readUInt16LE(18) : undefined;
}
