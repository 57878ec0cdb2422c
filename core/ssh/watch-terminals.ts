import { Reader } from "../bytes/reader.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { RelayedPackets, SeeMessage } from "./relay-packets.ts";

/** What a client asked for before it started a program at a terminal. */
export interface WatchedTerminal {
  /** How many sessions of the connection the host accepted before this one. */
  readonly place: number;
  /** TERM, e.g. `xterm`. */
  readonly kind: string;
  readonly columns: number;
  readonly rows: number;
}

/** Is told what one terminal shows. */
export interface TerminalWatcher {
  /** The buffer is somebody else's afterwards. A promise: nothing more is passed on until it is kept. */
  show(data: Buffer): Promise<void> | undefined;
  resize(columns: number, rows: number): void;
  /** Nothing more comes. Called once. */
  end(): void;
}

/** Whom to tell of a terminal at which a program is about to start; it starts afterwards. Undefined: nobody. Throws to end the connection. */
export type BeginWatch = (terminal: WatchedTerminal) => Promise<TerminalWatcher | undefined>;

const message = { globalRequest: 80, open: 90, confirmation: 91, failure: 92, data: 94, extendedData: 95, close: 97, request: 98 } as const;
/** Of one connection at a time: agents and sshd have fewer. */
const mostWatched = 4096;

interface Session {
  /** The client's number, which data from the host is addressed to. */
  readonly client: number;
  readonly place: number;
  wanted?: Omit<WatchedTerminal, "place">;
  watcher?: TerminalWatcher | undefined;
}

export interface WatchedPackets extends RelayedPackets {
  /** The connection has ended. */
  readonly end: () => void;
}

/**
 * Follows the sessions of a connection that is relayed by relayPackets, from the messages of RFC 4254. What is malformed is passed on: whoever it is
 * meant for refuses it. Throws `limit` for more sessions than anybody has.
 */
export function watchTerminals(begin: BeginWatch): WatchedPackets {
  /** By the host's number: a client could give two of them one number of its own. */
  const sessions = new Map<number, Session>();
  const byClient = new Map<number, Set<Session>>();
  /** What the client has opened and the host not answered, by the client's number: whether each is a session. */
  const asked = new Map<number, boolean[]>();
  let [waiting, accepted] = [0, 0];
  let isOver = false;

  const fromClient = (payload: Buffer): boolean | Promise<boolean> => {
    const reader = new Reader(payload);
    const type = reader.u8();
    if (type === message.open) onOpen(reader);
    else if (type === message.request) return onRequest(reader);
    else if (type === message.close) endChannel(reader.u32());
    return false;
  };
  const fromHost = (payload: Buffer): boolean | Promise<boolean> => {
    const reader = new Reader(payload);
    const type = reader.u8();
    // The client would ask for proof with the keys of its own connection, which the host does not know.
    if (type === message.globalRequest) return reader.string().toString("latin1").startsWith("hostkeys-");
    if (type === message.confirmation) onConfirmation(reader);
    else if (type === message.failure) answered(reader.u32());
    else if (type === message.data) return show(reader.u32(), () => reader.string());
    else if (type === message.extendedData) return show(reader.u32(), () => withoutCode(reader));
    return false;
  };
  const onOpen = (reader: Reader): void => {
    const isSession = reader.string().toString("latin1") === "session";
    const client = reader.u32();
    if (waiting >= mostWatched) throw new PlatformError("limit", "one connection opens too many channels at a time");
    waiting += 1;
    const same = asked.get(client);
    if (same === undefined) asked.set(client, [isSession]);
    else same.push(isSession);
  };
  const answered = (client: number): boolean => {
    const [isSession, ...more] = asked.get(client) ?? [];
    if (isSession === undefined) return false;
    waiting -= 1;
    if (more.length === 0) asked.delete(client);
    else asked.set(client, more);
    return isSession;
  };
  const onConfirmation = (reader: Reader): void => {
    const [client, host] = [reader.u32(), reader.u32()];
    if (!answered(client)) return;
    if (sessions.size >= mostWatched) throw new PlatformError("limit", "one connection has too many sessions");
    endChannel(host);
    const session = { client, place: accepted };
    accepted += 1;
    sessions.set(host, session);
    const same = byClient.get(client);
    if (same === undefined) byClient.set(client, new Set([session]));
    else same.add(session);
  };
  const onRequest = (reader: Reader): boolean | Promise<boolean> => {
    const session = sessions.get(reader.u32());
    if (session === undefined) return false;
    const name = reader.string().toString("latin1");
    reader.u8();
    if (name === "pty-req") {
      const kind = reader.string().toString("utf8").slice(0, 256);
      session.wanted = { kind, columns: reader.u32(), rows: reader.u32() };
    } else if (name === "window-change") {
      session.watcher?.resize(reader.u32(), reader.u32());
    } else if ((name === "shell" || name === "exec") && session.wanted !== undefined && session.watcher === undefined) {
      return beginAt(session, { place: session.place, ...session.wanted });
    }
    return false;
  };
  const beginAt = async (session: Session, terminal: WatchedTerminal): Promise<boolean> => {
    const watcher = await begin(terminal);
    // The connection may have ended meanwhile.
    if (isOver) watcher?.end();
    else session.watcher = watcher;
    return false;
  };
  const show = (client: number, read: () => Buffer): boolean | Promise<boolean> => {
    const same = byClient.get(client);
    if (same === undefined) return false;
    const data = read();
    const waits = [...same].flatMap(({ watcher }) => watcher?.show(data) ?? []);
    return waits.length === 0 ? false : Promise.all(waits).then(() => false);
  };
  const endChannel = (channel: number): void => {
    const session = sessions.get(channel);
    if (session === undefined) return;
    session.watcher?.end();
    sessions.delete(channel);
    const same = byClient.get(session.client);
    same?.delete(session);
    if (same?.size === 0) byClient.delete(session.client);
  };
  return {
    fromClient: lenient(fromClient),
    fromHost: lenient(fromHost),
    end: () => {
      isOver = true;
      for (const channel of [...sessions.keys()]) endChannel(channel);
    },
  };
}

function withoutCode(reader: Reader): Buffer {
  reader.u32();
  return reader.string();
}

/** Bytes that end too early are no message that anybody acts on. */
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
