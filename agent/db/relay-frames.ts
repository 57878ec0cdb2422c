import type { Duplex } from "node:stream";
import { limitPieces } from "../../core/bytes/limit-pieces.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { boundBuffers } from "../../core/memory/bound-buffers.ts";
import type { Filter } from "./frame-filter.ts";
import { settled, within } from "./settled.ts";

export interface RelayedFrames {
  readonly client: Duplex;
  readonly server: Duplex;
  readonly fromClient: Filter;
  readonly fromServer: Filter;
  /** Ends the session; its reason is a PlatformError. */
  readonly signal: AbortSignal;
  /**
   * Called with every chunk from the client after its frames were judged: they go on once the promise has resolved, and nothing more is read from the client
   * until then. It rejects when the session must end. Undefined: at once.
   */
  readonly untilSafe?: (() => Promise<void> | undefined) | undefined;
  /** Called with every chunk from the client after its frames went on; a promise holds back further reading from the client until it resolves. */
  readonly onClient?: (bytes: number) => Promise<void> | undefined;
  readonly onServer?: (bytes: number) => void;
  /**
   * The protocol's own message for the client about the end of the session; called between two messages of the server, where it is inserted.
   * Undefined: there is none.
   */
  readonly lastWords: (why: PlatformError) => Buffer | undefined;
}

export interface RelayEnd {
  /** Undefined: one of the peers ended it. */
  readonly reason: PlatformError | undefined;
  /** Whose bytes broke the protocol. */
  readonly malformed: "client" | "server" | undefined;
}

/** Of all relays together. */
const passed = boundBuffers();

/** Maximum time for the rest of a server's message once the session is over, and for the client to take the last words, ms. */
const lastMs = 3_000;
/** Maximum time without a byte from the server once a side has ended, ms: a client that is gone is not known from one that waits for its answer. */
const halfOpenMs = 600_000;

/**
 * Relays frames both ways, at the pace of the slower side, until a peer ends it, a filter throws, the audit cannot be kept, or the signal. The
 * client learns the reason between two messages. Both streams are destroyed then. Never throws.
 */
export async function relayFrames(relayed: RelayedFrames): Promise<RelayEnd> {
  return await new FrameRelay(relayed).run();
}

class FrameRelay {
  readonly #relayed: RelayedFrames;
  readonly #toServer: WritePiece;
  readonly #toClient: WritePiece;
  readonly #over = Promise.withResolvers<RelayEnd>();
  #isOver = false;
  /** The session is over, but the server's message that the client has in part is not. */
  #completing: (() => void) | undefined;
  /** Asynchronous holds of the client's direction. */
  #holds = 0;
  /** The server has not taken enough of what was written to it. */
  #isFull = false;
  /** The client's latest messages wait until they are safe, and an end that has come behind them. */
  #isUnsafe = false;
  #hasClientEnd = false;
  /** Runs once a side has ended. */
  #halfOpen: NodeJS.Timeout | undefined;

  constructor(relayed: RelayedFrames) {
    this.#relayed = relayed;
    this.#toServer = limitPieces(relayed.server, this.#onRoom);
    this.#toClient = limitPieces(relayed.client, () => void relayed.server.resume());
  }

  async run(): Promise<RelayEnd> {
    const { client, server, signal } = this.#relayed;
    for (const stream of [client, server]) stream.allowHalfOpen = true;
    client.on("error", () => {});
    server.on("error", (thrown) => {
      const reason = new PlatformError("unavailable", `the connection to the database broke: ${errorText(thrown)}`);
      void this.#end({ reason, malformed: undefined });
    });
    const onAbort = (): void => void this.#end({ reason: toPlatformError(signal.reason), malformed: undefined });
    client.on("data", this.#onClientData).on("end", () => this.#onClientEnd());
    server.on("data", this.#onServerData).on("end", () => this.#onSideEnd(client));
    server.on("drain", this.#onRoom);
    client.on("drain", () => server.resume());
    for (const stream of [client, server]) stream.on("close", () => void this.#end({ reason: undefined, malformed: undefined }));
    signal.addEventListener("abort", onAbort, { once: true });
    for (const stream of [client, server]) stream.resume();
    if (signal.aborted) onAbort();
    else if (client.destroyed || server.destroyed) void this.#end({ reason: undefined, malformed: undefined });
    const end = await this.#over.promise;
    signal.removeEventListener("abort", onAbort);
    clearTimeout(this.#halfOpen);
    return end;
  }

  /** It can come although nothing is read. */
  #onClientEnd(): void {
    if (this.#isUnsafe) this.#hasClientEnd = true;
    else this.#onSideEnd(this.#relayed.server);
  }

  #onSideEnd(other: Duplex): void {
    other.end();
    const why = `one side has ended, and the other one did nothing for ${halfOpenMs / 60_000} minutes`;
    const over = (): void => void this.#end({ reason: new PlatformError("timeout", why), malformed: undefined });
    if (!this.#isOver) this.#halfOpen ??= setTimeout(over, halfOpenMs);
  }

  readonly #onClientData = (chunk: Buffer): void => {
    if (this.#isOver) return;
    passed(chunk.length);
    const { fromClient, untilSafe } = this.#relayed;
    let pieces: readonly Buffer[];
    try {
      pieces = fromClient.push(chunk);
    } catch (thrown) {
      return void this.#end({ reason: toPlatformError(thrown), malformed: "client" });
    }
    const safe = untilSafe?.();
    this.#isUnsafe = safe !== undefined;
    if (safe === undefined) this.#forward(pieces, chunk.length);
    else this.#hold(safe, () => this.#forward(pieces, chunk.length));
  };

  /** `bytes`: of the client's chunk in which the pieces came. */
  #forward(pieces: readonly Buffer[], bytes: number): void {
    if (this.#isOver) return;
    const { client, server, fromClient, onClient } = this.#relayed;
    const room = writePieces(server, this.#toServer, pieces);
    const held = onClient?.(bytes);
    if (fromClient.failure !== undefined) {
      held?.catch(() => {});
      return void this.#end({ reason: toPlatformError(fromClient.failure), malformed: "client" });
    }
    this.#isFull ||= !room;
    if (!room) client.pause();
    if (held !== undefined) this.#hold(held);
    this.#isUnsafe = false;
    if (this.#hasClientEnd) this.#onClientEnd();
  }

  /** Reads nothing more from the client for a while. */
  #hold(held: Promise<void>, then: () => void = () => {}): void {
    this.#holds += 1;
    this.#relayed.client.pause();
    const goOn = (): void => {
      this.#holds -= 1;
      then();
      this.#resumeClient();
    };
    held.then(goOn).catch((thrown: unknown) => void this.#end({ reason: toPlatformError(thrown), malformed: undefined }));
  }

  readonly #onRoom = (): void => {
    this.#isFull = false;
    this.#resumeClient();
  };

  #resumeClient(): void {
    if (this.#holds === 0 && !this.#isFull && !this.#relayed.server.writableNeedDrain) this.#relayed.client.resume();
  }

  readonly #onServerData = (chunk: Buffer): void => {
    const { client, server, fromServer, onServer } = this.#relayed;
    if (this.#isOver && this.#completing === undefined) return;
    this.#halfOpen?.refresh();
    passed(chunk.length);
    let room = true;
    try {
      room = writePieces(client, this.#toClient, fromServer.push(chunk));
      if (fromServer.failure !== undefined) throw fromServer.failure;
    } catch (thrown) {
      return void this.#end({ reason: toPlatformError(thrown), malformed: "server" });
    }
    onServer?.(chunk.length);
    if (this.#isOver && fromServer.atBoundary) this.#completing?.();
    if (!room) server.pause();
  };

  async #end(end: RelayEnd): Promise<void> {
    if (this.#isOver) return this.#completing?.();
    this.#isOver = true;
    const { client, server, fromServer } = this.#relayed;
    client.pause();
    fromServer.finish?.();
    if (end.reason === undefined) await settled([client, server]);
    else if (!client.destroyed) await this.#say(end.reason);
    client.destroy();
    server.destroy();
    this.#over.resolve(end);
  }

  /** Writes the last words after the server's current message, and waits until the client has taken them. */
  async #say(why: PlatformError): Promise<void> {
    const { client, server, fromServer, lastWords } = this.#relayed;
    if (!fromServer.atBoundary && !server.destroyed) {
      await within(lastMs, (done) => {
        this.#completing = done;
        server.once("end", done).once("close", done);
        server.resume();
      });
      this.#completing = undefined;
    }
    server.pause();
    // In the middle of a message they would be taken for a part of it.
    if (!fromServer.atBoundary || client.destroyed) return;
    const words = lastWords(why) ?? Buffer.alloc(0);
    await within(lastMs, (done) => {
      client.once("close", done);
      client.resume();
      client.end(words, done);
    });
  }
}

/** Returns whether there is room for more. */
type WritePiece = (piece: Buffer) => boolean;

/** In one write: a second one would wait until Node reports the first. */
function writePieces(to: Duplex, write: WritePiece, pieces: readonly Buffer[]): boolean {
  const isOne = pieces.length === 1;
  if (!isOne) to.cork();
  let room = true;
  for (const piece of pieces) room = write(piece);
  if (!isOne) to.uncork();
  return room;
}
