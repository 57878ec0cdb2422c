import type { Readable } from "node:stream";

/** The two ends of a connection between which bytes pass as they come. */
export interface LostEnds {
  readonly client: Readable;
  readonly server: Readable;
  /** Whether the client has the answer to its login already. Default: the connection begins. */
  readonly isLoggedIn?: boolean;
}

/** The last message for the client; undefined: there is none. `latest`: the client's last bytes. */
export type WordsAtLoss = (latest: Buffer) => Buffer | undefined;
