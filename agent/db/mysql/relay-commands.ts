import type { Duplex } from "node:stream";
import { type Capabilities, capability } from "../../../core/databases/mysql/capabilities.ts";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { DatabaseEvent, EngineSession } from "../engine.ts";
import { type Filter, FrameFilter } from "../frame-filter.ts";
import { relayFrames } from "../relay-frames.ts";
import { has } from "./capabilities.ts";
import { ClientCommands, packetFormat } from "./client-commands.ts";
import { endError } from "./error-for.ts";
import { Replies } from "./replies.ts";
import { Statements } from "./statements.ts";

export interface RelayedSession {
  readonly session: EngineSession;
  readonly server: Duplex;
  readonly capabilities: Capabilities;
  readonly isMariadb: boolean;
  readonly threadOf: (own: number) => number | undefined;
  /** As of `CommandFacts`. */
  readonly givesHigh: boolean;
}

/** Maximum number of commands without an answer, beyond which nothing more is read from the client. */
const maxWaiting = 128;

export interface CommandsEnd {
  /** Undefined: one of the peers ended it. */
  readonly reason: PlatformError | undefined;
  /** Beginning of the command with which the client broke the protocol, base64. */
  readonly malformed: string | undefined;
}

/** Relays commands and answers until the end of the session, which the client learns in the protocol's words. Never throws. */
export async function relayCommands(relayed: RelayedSession): Promise<CommandsEnd> {
  const { session, server } = relayed;
  const relay = new CommandRelay(relayed);
  server.once("end", () => relay.onServerEnd());
  const { reason, malformed } = await relayFrames({
    client: session.client,
    server,
    fromClient: relay.fromClient,
    fromServer: relay.fromServer,
    signal: relay.signal,
    untilSafe: session.isStrict === true ? () => relay.held : undefined,
    onClient: (bytes) => relay.onClient(bytes),
    onServer: (bytes) => relay.onServer(bytes),
    lastWords: (why) => relay.lastWords(why),
  });
  relay.end();
  return { reason, malformed: malformed === "client" ? relay.beginning : undefined };
}

class CommandRelay {
  readonly #relayed: RelayedSession;
  readonly #replies: Replies;
  readonly #statements = new Statements();
  readonly #commands: ClientCommands;
  readonly #stop = new AbortController();
  readonly signal: AbortSignal;
  readonly fromClient: Filter;
  readonly fromServer: Filter;
  /** Events of the client's latest chunk that are not safe, or have no room. */
  #held: Promise<void> | undefined;
  /** Too many commands wait for their answers. */
  #room: PromiseWithResolvers<void> | undefined;

  constructor(relayed: RelayedSession) {
    this.#relayed = relayed;
    const { session, capabilities, threadOf, givesHigh } = relayed;
    this.signal = AbortSignal.any([session.signal, this.#stop.signal]);
    this.#replies = new Replies(capabilities);
    const record = (event: DatabaseEvent): void => this.#record(event);
    const facts = {
      statements: this.#statements,
      hasAttributes: has(capabilities, capability.queryAttributes),
      threadOf,
      givesHigh,
      record,
      isStrict: session.isStrict === true,
      log: session.statements,
    };
    this.#commands = new ClientCommands(facts, this.#replies);
    this.fromClient = new FrameFilter(this.#commands.format, (frame) => this.#commands.judge(frame));
    this.fromServer = this.#serverFilter();
  }

  /** A packet of 16 MiB is one message with the next one. */
  #serverFilter(): Filter {
    const replies = this.#replies;
    const filter = new FrameFilter({ ...packetFormat, keep: () => replies.kept }, (frame) => replies.judge(frame));
    return {
      get atBoundary() {
        return filter.atBoundary && !replies.continues;
      },
      get heldBytes() {
        return filter.heldBytes;
      },
      get failure() {
        return filter.failure;
      },
      push: (chunk) => filter.push(chunk),
      finish: () => filter.finish(),
    };
  }

  /** Resolves once the commands so far are safe in the audit, or it has room for more. */
  get held(): Promise<void> | undefined {
    return this.#held;
  }

  /** A failure of the audit ends the session, also where nothing waits for the event. */
  #record(event: DatabaseEvent): void {
    const taken = this.#relayed.session.record(event);
    if (taken === undefined) return;
    const both = Promise.all([this.#held, taken]).then(() => {});
    both.catch((thrown: unknown) => this.#stop.abort(toPlatformError(thrown)));
    this.#held = both;
  }

  onClient(bytes: number): Promise<void> | undefined {
    const { session } = this.#relayed;
    session.touch();
    session.count({ received: bytes });
    const held = this.#held;
    this.#held = undefined;
    if (this.#replies.waiting < maxWaiting) return held;
    this.#room ??= Promise.withResolvers();
    return Promise.all([held, this.#room.promise]).then(() => {});
  }

  onServer(bytes: number): void {
    const { session } = this.#relayed;
    session.touch();
    session.count({ transmitted: bytes });
    if (this.#room === undefined || this.#replies.waiting > maxWaiting / 2) return;
    this.#room.resolve();
    this.#room = undefined;
  }

  /** A server that leaves before it has answered, or between two commands without a word. */
  onServerEnd(): void {
    if (!this.fromServer.atBoundary || this.fromServer.heldBytes > 0) return;
    const { client, database } = this.#relayed.session;
    const isExpected = this.#commands.hasLeft || this.#replies.hasFarewell || client.readableEnded;
    if (this.#replies.waiting === 0 && isExpected) return;
    const { name } = database;
    this.#stop.abort(new PlatformError("unavailable", `the server of database ${name} closed the connection`));
  }

  /** Records what the server has not answered. */
  end(): void {
    this.#statements.end();
  }

  lastWords(why: PlatformError): Buffer {
    return errorPacket(this.#replies.nextSequence, endError(why, this.#relayed.isMariadb));
  }

  /** The latest command of the client, its first bytes in base64. */
  get beginning(): string {
    return this.#commands.beginning.toString("base64");
  }
}
