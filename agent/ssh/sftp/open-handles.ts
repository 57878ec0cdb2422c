import { closeSync, type Dir } from "node:fs";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Maximum handles: as in a session of OpenSSH with the usual limit of 1024 descriptors. */
export const maxHandles = 1019;

export interface OpenFile {
  readonly kind: "file";
  readonly fd: number;
  readonly path: Buffer;
  readonly appends: boolean;
  bytesRead: number;
  bytesWritten: number;
}
export interface OpenFolder {
  readonly kind: "folder";
  readonly folder: Dir;
  readonly path: Buffer;
  /** `.` and `..`, which the system's own listing leaves out; empty once they were sent. */
  pending: readonly Buffer[];
}

/** Open files and folders of a client. A handle is a number in four bytes; the lowest free one comes next. */
export class OpenHandles {
  readonly #open = new Map<number, OpenFile | OpenFolder>();
  #next = 0;

  /** Throws `limit` when full; call it before opening anything. */
  reserve(): void {
    if (this.#open.size >= maxHandles) throw new PlatformError("limit", `Too many open files: a session may have ${maxHandles}`);
  }

  add(entry: OpenFile | OpenFolder): Buffer {
    while (this.#open.has(this.#next)) this.#next = (this.#next + 1) % (maxHandles + 1);
    this.#open.set(this.#next, entry);
    const handle = Buffer.alloc(4);
    handle.writeUInt32BE(this.#next);
    return handle;
  }

  file(handle: Buffer): OpenFile {
    const entry = this.#find(handle);
    if (entry?.kind !== "file") throw new PlatformError("conflict", "Invalid file handle");
    return entry;
  }

  folder(handle: Buffer): OpenFolder {
    const entry = this.#find(handle);
    if (entry?.kind !== "folder") throw new PlatformError("conflict", "Invalid folder handle");
    return entry;
  }

  close(handle: Buffer): OpenFile | OpenFolder {
    const entry = this.#find(handle);
    if (entry === undefined) throw new PlatformError("not_found", "Invalid handle");
    const number = handle.readUInt32BE();
    this.#open.delete(number);
    this.#next = Math.min(this.#next, number);
    if (entry.kind === "file") closeSync(entry.fd);
    else entry.folder.closeSync();
    return entry;
  }

  /** Removes and returns everything that is still open, without closing it: the process ends. */
  drain(): (OpenFile | OpenFolder)[] {
    const left = [...this.#open.values()];
    this.#open.clear();
    return left;
  }

  #find(handle: Buffer): OpenFile | OpenFolder | undefined {
    return handle.length === 4 ? this.#open.get(handle.readUInt32BE()) : undefined;
  }
}
