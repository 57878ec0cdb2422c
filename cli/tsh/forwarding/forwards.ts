import type { Client } from "ssh2";
import type { CliIo } from "../../io.ts";

/** State shared by all forwards of one connection. */
export interface Forwards {
  readonly client: Client;
  readonly io: CliIo;
  /** Ends all forwards. */
  readonly gone: AbortSignal;
}
