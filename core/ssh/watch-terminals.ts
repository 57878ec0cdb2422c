import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { RelayedPackets, SeeMessage } from "./relay-packets.ts";
import { type NumberedSession, SessionNumbers } from "./session-numbers.ts";

/** A client's requests before it started a program at a terminal. */
export interface WatchedTerminal {
  /** How many sessions of the connection the host accepted before this one. */
  readonly place: number;
  /** TERM, e.g. `xterm`. */
  readonly kind: string;
  readonly columns: number;
  readonly rows: number;
}

/** Observes the output of one terminal. */
export interface TerminalWatcher {
  /** The buffer must not be kept. If it returns a promise, nothing more is passed on until it resolves. */
  show(data: Buffer): Promise<void> | undefined;
  resize(columns: number, rows: number): void;
  /** Called once, after the last output. */
  end(): void;
}

/** Returns the observer of a terminal before its program starts; undefined for none. Throws to end the connection. */
export type BeginWatch = (terminal: WatchedTerminal) => Promise<TerminalWatcher | undefined>;

const message = {
  globalRequest: 80,
  open: 90,
  confirmation: 91,
  failure: 92,
  data: 94,
  extendedData: 95,
  close: 97,
  request: 98,
  success: 99,
} as const;
const stderrType = 1;

interface Session extends NumberedSession {
  wanted?: Omit<WatchedTerminal, "place">;
  watcher?: TerminalWatcher | undefined;
}

export interface WatchedPackets extends RelayedPackets {
  /** Messages that end each of the client's terminals with a text, as if its program had written it to standard error and ended with 255. */
  readonly endings: (text: string) => readonly Buffer[];
  /** Called when the connection has ended. */
  readonly end: () => void;
}

/**
 * Follows the sessions of a connection that is relayed by relayPackets, from the messages of RFC 4254. Malformed messages are passed on: their
 * receiver refuses them. Throws `limit` for an excessive number of sessions.
 */
export function watchTerminals(begin: BeginWatch): WatchedPackets {
  const watch = new TerminalWatch(begin);
  return {
    fromClient: lenient((payload) => watch.fromClient(new Reader(payload))),
    fromHost: lenient((payload) => watch.fromHost(new Reader(payload))),
    endings: (text) => watch.endings(text),
    end: () => watch.end(),
  };
}

class TerminalWatch {
  readonly #begin: BeginWatch;
  readonly #sessions = new SessionNumbers<Session>((numbered) => numbered);
  #isOver = false;

  constructor(begin: BeginWatch) {
    this.#begin = begin;
  }

  fromClient(reader: Reader): boolean | Promise<boolean> {
    const type = reader.u8();
    if (type === message.request) return this.#onRequest(reader);
    if (type === message.close) this.#sessions.closed(reader.u32())?.watcher?.end();
    if (type === message.open) {
      const isSession = reader.string().toString("latin1") === "session";
      this.#sessions.asked(reader.u32(), isSession);
    }
    return false;
  }

  fromHost(reader: Reader): boolean | Promise<boolean> {
    const type = reader.u8();
    // The client would ask for proof with the keys of its own connection, which the host does not know.
    if (type === message.globalRequest) return reader.string().toString("latin1").startsWith("hostkeys-");
    if (type === message.confirmation) this.#sessions.confirmed(reader.u32(), reader.u32())?.watcher?.end();
    else if (type === message.failure) this.#sessions.answered(reader.u32());
    else if (type === message.data) return this.#show(reader.u32(), () => reader.string());
    else if (type === message.extendedData) return this.#show(reader.u32(), () => withoutCode(reader));
    return false;
  }

  endings(text: string): readonly Buffer[] {
    return this.#sessions.all().flatMap(({ client, wanted, watcher }) => {
      if (wanted === undefined) return [];
      // A client does not show output of a program before its start is confirmed.
      const started = watcher === undefined ? [Buffer.concat([u8(message.success), u32(client)])] : [];
      const words = Buffer.concat([u8(message.extendedData), u32(client), u32(stderrType), string(text)]);
      const status = Buffer.concat([u8(message.request), u32(client), string("exit-status"), u8(0), u32(255)]);
      return [...started, words, status, Buffer.concat([u8(message.close), u32(client)])];
    });
  }

  end(): void {
    this.#isOver = true;
    for (const { watcher } of this.#sessions.all()) watcher?.end();
    this.#sessions.clear();
  }

  #onRequest(reader: Reader): boolean | Promise<boolean> {
    const session = this.#sessions.ofHost(reader.u32());
    if (session === undefined) return false;
    const name = reader.string().toString("latin1");
    reader.u8();
    if (name === "pty-req") {
      const kind = reader.string().toString("utf8").slice(0, 256);
      session.wanted = { kind, columns: reader.u32(), rows: reader.u32() };
    } else if (name === "window-change") {
      session.watcher?.resize(reader.u32(), reader.u32());
    } else if ((name === "shell" || name === "exec") && session.wanted !== undefined && session.watcher === undefined) {
      return this.#beginAt(session, { place: session.place, ...session.wanted });
    }
    return false;
  }

  async #beginAt(session: Session, terminal: WatchedTerminal): Promise<boolean> {
    const watcher = await this.#begin(terminal);
    // The connection may have ended in the meantime.
    if (this.#isOver) watcher?.end();
    else session.watcher = watcher;
    return false;
  }

  #show(client: number, read: () => Buffer): boolean | Promise<boolean> {
    const same = this.#sessions.ofClient(client);
    if (same === undefined) return false;
    const data = read();
    const waits = [...same].flatMap(({ watcher }) => watcher?.show(data) ?? []);
    return waits.length === 0 ? false : Promise.all(waits).then(() => false);
  }
}

function withoutCode(reader: Reader): Buffer {
  reader.u32();
  return reader.string();
}

/** Truncated messages are ignored by every receiver. */
function lenient(see: SeeMessage): SeeMessage {
  return (payload) => {
    try {
      return see(payload);
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "invalid") return false;
      throw thrown;
    }
  };
}
