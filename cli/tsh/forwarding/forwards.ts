import type { Client } from "../../../core/ssh/ssh2.ts";
import type { CliIo } from "../../io.ts";

/** What all forwards of one connection share. */
export interface Forwards {
  readonly client: Client;
  readonly io: CliIo;
  /** Ends all of them. */
  readonly gone: AbortSignal;
}
