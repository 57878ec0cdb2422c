import type { Readable, Writable } from "node:stream";

/** A program with a terminal, in the user's name: on a host, or in a container of a pod. */
export interface Shell {
  readonly outputs: readonly Readable[];
  readonly input: Writable;
  resize(size: { readonly cols: number; readonly rows: number }): void;
  /** Where it runs; of a pod its namespace and name. */
  readonly host: string;
  /** Empty where there is none. */
  readonly login: string;
  /** Status of the program, and the reason of an end, once they are reported. */
  readonly ended: () => { readonly status?: number; readonly reason?: string };
  /** All output has been read. */
  readonly closed: Promise<unknown>;
  close(): void;
}
