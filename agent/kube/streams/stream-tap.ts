import type { ProgramInserts } from "./insertion.ts";

/** Reads a copy of what passes on an upgraded connection, one piece after the other. */
export interface StreamTap {
  /** A piece of one direction, before it goes on. A promise: wait for it first. Throws, or rejects with, PlatformError: the connection has to end. */
  fromClient(chunk: Buffer): Promise<void> | undefined;
  fromServer(chunk: Buffer): Promise<void> | undefined;
  /** Bytes that state to the client why the connection ends; undefined where no frame can begin now, or nothing carries a reason. */
  farewell(reason: string): Buffer | undefined;
  /** Time that the client has to show it before its connection ends, ms; left out: both come together. */
  readonly shownMs?: number;
  close(): void;
  /** Places between the frames; left out where nothing may be inserted. */
  readonly inserts?: ProgramInserts;
}

/** Events that a tap reports from a program's streams. */
export interface ProgramEvents {
  /** A returned promise is awaited before more is read. */
  readonly onOutput: (bytes: Buffer) => Promise<void> | undefined;
  readonly onResize: (size: { readonly columns: number; readonly rows: number }) => void;
  /** Bytes of the error stream, which states how the program ended. They are valid during the call only. */
  readonly onStatus: (bytes: Buffer) => void;
}
