import type { Writable } from "node:stream";
import type { JoinTarget } from "../../core/access/authorize-join.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { maxParticipants, type Participant, sessionPlace } from "../../core/resources/session.ts";
import type { LiveSession, LiveSessions } from "../service/live-sessions.ts";
import type { Seat } from "./seat.ts";
import { clampSize, type TerminalSize } from "./terminal-size.ts";

/** The session whose terminal it is. */
export interface SharedFacts extends JoinTarget {
  readonly sid: string;
  /** RFC 3339. */
  readonly started: string;
}

export interface SharedOptions {
  readonly facts: SharedFacts;
  readonly input: Writable;
  readonly size: () => TerminalSize;
  /** Notifies the owner of users who join and leave. */
  readonly tellOwner: (text: string) => void;
  /** Called when the participants have changed. */
  readonly changed: () => void;
}

/** Maximum names kept for the audit log. */
const mostNames = 64;

/** A terminal that other users may watch: a bounded part of past output, and all new output. */
export class SharedTerminal implements LiveSession {
  readonly facts: SharedFacts;
  /** Receives the peers' input. */
  readonly input: Writable;
  readonly #options: SharedOptions;
  readonly #past = new ScrollBack();
  readonly #seats = new Set<Seat>();
  readonly #names = new Set<string>();
  #isOver = false;

  constructor(options: SharedOptions) {
    this.facts = options.facts;
    this.input = options.input;
    this.#options = options;
    // One more for each peer that types.
    options.input.setMaxListeners(2 * maxParticipants);
  }

  get sid(): string {
    return this.facts.sid;
  }

  describe(): ReturnType<LiveSession["describe"]> {
    const { facts, participants } = this;
    return { ...facts, roles: [...facts.roles], participants };
  }

  get size(): TerminalSize {
    return clampSize(this.#options.size());
  }

  get participants(): Participant[] {
    return [...this.#seats].map(({ user, mode }) => ({ user, mode }));
  }

  /** All participants so far, the owner first; undefined when nobody joined. */
  get everyone(): readonly string[] | undefined {
    return this.#names.size === 0 ? undefined : [...new Set([this.facts.user, ...this.#names])].slice(0, mostNames);
  }

  /** Passes the terminal's output to all participants. Waits for none of them. */
  show(chunk: Buffer): void {
    this.#past.add(chunk);
    for (const seat of this.#seats) seat.show(chunk);
  }

  /** Throws `unavailable` when the session is over, `limit` when there is no room. */
  requireRoom(): void {
    if (this.#isOver) throw new PlatformError("unavailable", "the session has just ended");
    if (this.#seats.size < maxParticipants) return;
    throw new PlatformError("limit", `this session already has ${maxParticipants} participants (the maximum)`);
  }

  /** Sends it the recent output, then all new output, until `left` is called. Throws as `requireRoom` does. */
  take(seat: Seat, left: () => void): void {
    this.requireRoom();
    const { facts } = this;
    const { columns, rows } = this.size;
    this.#announce(`user ${seat.user} joined as ${seat.mode}`);
    this.#seats.add(seat);
    if (this.#names.size < mostNames) this.#names.add(seat.user);
    seat.onLeft = () => {
      this.#left(seat);
      left();
    };
    seat.tell(`you joined the session of ${facts.user}, ${sessionPlace(facts)}, as ${seat.mode}; its terminal has ${columns}x${rows} characters`);
    seat.show(this.#past.bytes());
    this.#options.changed();
  }

  /** The session is over: notifies all participants. */
  end(): void {
    this.#isOver = true;
    for (const seat of [...this.#seats]) seat.finish(`the session of ${this.facts.user} has ended`);
  }

  #left(seat: Seat): void {
    this.#seats.delete(seat);
    if (!this.#isOver) this.#announce(`user ${seat.user} left`);
    this.#options.changed();
  }

  #announce(text: string): void {
    this.#options.tellOwner(text);
    for (const seat of this.#seats) seat.tell(text);
  }
}

/** The terminal of a session that runs here. */
export function findTerminal(live: LiveSessions, sid: string): SharedTerminal | undefined {
  const session = live.find(sid);
  return session instanceof SharedTerminal ? session : undefined;
}

/** Maximum separate pieces: a terminal that shows single characters must not cost a buffer for each. */
const mostPieces = 512;

/** The newest bytes of a terminal's output, up to a limit. */
export class ScrollBack {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(most = 64 * 1024) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    // A copy: the chunk may be a small part of a large buffer.
    this.#pieces.push(Buffer.from(chunk.subarray(-this.#most)));
    this.#bytes += Math.min(chunk.length, this.#most);
    this.#isCut ||= chunk.length > this.#most;
    if (this.#bytes > this.#most || this.#pieces.length > mostPieces) this.#compact();
  }

  /** Starts at the beginning of a line when earlier output was dropped. */
  bytes(): Buffer {
    const all = Buffer.concat(this.#pieces);
    return this.#isCut ? all.subarray(all.indexOf(0x0a) + 1) : all;
  }

  /** Drops more than needed, so that not every byte moves the whole buffer. */
  #compact(): void {
    const all = Buffer.concat(this.#pieces);
    const isFull = all.length > this.#most;
    this.#isCut ||= isFull;
    this.#pieces = [isFull ? Buffer.from(all.subarray(-Math.ceil(this.#most * 0.75))) : all];
    this.#bytes = this.#pieces[0]?.length ?? 0;
  }
}
