import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { ParsedKey } from "ssh2";
import { BaseAgent } from "./ssh2/hooks.ts";

/** Maximum concurrent connections of the host to the agent. */
const most = 64;

type Done<T> = (error?: Error | null, value?: T) => void;

/** The SSH agent of this machine, forwarded to a host while the connection lasts. It is not used for logging in. */
export class LentAgent extends BaseAgent {
  readonly #path: string;
  #open = 0;

  /** `path` of its socket: SSH_AUTH_SOCK. */
  constructor(path: string) {
    super();
    this.#path = path;
  }

  getIdentities(done: Done<ParsedKey[]>): void {
    done(null, []);
  }

  sign(...values: unknown[]): void {
    (values.at(-1) as Done<Buffer>)(new Error("this agent is only forwarded"));
  }

  /** ssh2 pipes the stream and a channel to each other. */
  override getStream(done: Done<Duplex>): void {
    if (this.#open >= most) {
      done(new Error(`more than ${most} connections to the agent`));
      return;
    }
    this.#open += 1;
    let channel: Duplex | undefined;
    const socket = connect({ path: this.#path, allowHalfOpen: true });
    const fail = (error: Error): void => done(error);
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail).on("error", () => {});
      done(null, socket);
    });
    socket.once("pipe", (source: Duplex) => {
      channel = source.once("close", () => socket.destroy());
    });
    socket.once("close", () => {
      this.#open -= 1;
      // An error does not end the stream: the pipe alone would leave the channel open.
      channel?.end();
    });
  }
}
