import { closeSync, type Dir } from "node:fs";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** As many as a session of OpenSSH may hold with the usual limit of 1024 descriptors. */
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
  /** `.` and `..`, which the system's own listing leaves out; empty once they were told. */
  pending: readonly Buffer[];
}

/** What a client has open. A handle is a number in four bytes; the lowest free one comes next. */
export class OpenHandles {
  readonly #open = new Map<number, OpenFile | OpenFolder>();
  #next = 0;

  /** Throws `limit` before anything is opened. */
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
    if (entry?.kind !== "file") throw new PlatformError("conflict", "This is no handle of an open file");
    return entry;
  }

  folder(handle: Buffer): OpenFolder {
    const entry = this.#find(handle);
    if (entry?.kind !== "folder") throw new PlatformError("conflict", "This is no handle of an open folder");
    return entry;
  }

  close(handle: Buffer): OpenFile | OpenFolder {
    const entry = this.#find(handle);
    if (entry === undefined) throw new PlatformError("not_found", "This handle is not open");
    const number = handle.readUInt32BE();
    this.#open.delete(number);
    this.#next = Math.min(this.#next, number);
    if (entry.kind === "file") closeSync(entry.fd);
    else entry.folder.closeSync();
    return entry;
  }

  /** Takes everything that is still open out, without closing it: the process ends. */
  drain(): (OpenFile | OpenFolder)[] {
    const left = [...this.#open.values()];
    this.#open.clear();
    return left;
  }

  #find(handle: Buffer): OpenFile | OpenFolder | undefined {
    return handle.length === 4 ? this.#open.get(handle.readUInt32BE()) : undefined;
  }
}
