import { open } from "node:fs/promises";
import type { EnvironmentFile } from "./service-environment.ts";

/** Maximum size read, bytes. */
const maxLength = 65_536;

/** A file that is missing or unreadable has no text. */
export async function readEnvironmentFile(path: string): Promise<EnvironmentFile> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxLength), 0, maxLength, 0);
    const isOpenToAll = ((await file.stat()).mode & 0o004) !== 0;
    return { path, text: buffer.toString("utf8", 0, bytesRead), isOpenToAll };
  } catch {
    return { path, text: undefined };
  }
}
