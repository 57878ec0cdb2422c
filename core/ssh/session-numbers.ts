import { PlatformError } from "../errors/platform-error.ts";

/** Maximum channels of one connection at a time: agents and sshd have fewer. */
const mostChannels = 4096;

/** A session of a connection that is relayed. */
export interface NumberedSession {
  /** The client's number of its channel, which messages from the host carry. */
  readonly client: number;
  /** How many sessions of the connection the host accepted before it. */
  readonly place: number;
}

/**
 * Tracks the channel numbers of sessions, from opens, confirmations, refusals and closes. A client cannot fool it by giving two channels one number
 * of its own. Throws `limit` beyond any realistic number.
 */
export class SessionNumbers<Session extends NumberedSession> {
  readonly #make: (numbered: NumberedSession) => Session;
  readonly #byHost = new Map<number, Session>();
  readonly #byClient = new Map<number, Set<Session>>();
  /** Channels that the client has opened and the host not yet answered, by the client's number: whether each is a session. */
  readonly #asked = new Map<number, boolean[]>();
  #waiting = 0;
  #accepted = 0;

  constructor(make: (numbered: NumberedSession) => Session) {
    this.#make = make;
  }

  asked(client: number, isSession: boolean): void {
    if (this.#waiting >= mostChannels) throw new PlatformError("limit", "one connection opens too many channels at a time");
    this.#waiting += 1;
    const same = this.#asked.get(client);
    if (same === undefined) this.#asked.set(client, [isSession]);
    else same.push(isSession);
  }

  /** Whether the channel that the host has answered is a session. */
  answered(client: number): boolean {
    const same = this.#asked.get(client);
    const isSession = same?.shift();
    if (isSession === undefined) return false;
    this.#waiting -= 1;
    if (same?.length === 0) this.#asked.delete(client);
    return isSession;
  }

  /** The ended session that had this number of the host before. */
  confirmed(client: number, host: number): Session | undefined {
    if (!this.answered(client)) return undefined;
    if (this.#byHost.size >= mostChannels) throw new PlatformError("limit", "one connection has too many sessions");
    const before = this.closed(host);
    const session = this.#make({ client, place: this.#accepted });
    this.#accepted += 1;
    this.#byHost.set(host, session);
    const same = this.#byClient.get(client);
    if (same === undefined) this.#byClient.set(client, new Set([session]));
    else same.add(session);
    return before;
  }

  ofHost(host: number): Session | undefined {
    return this.#byHost.get(host);
  }

  ofClient(client: number): ReadonlySet<Session> | undefined {
    return this.#byClient.get(client);
  }

  all(): readonly Session[] {
    return [...this.#byHost.values()];
  }

  closed(host: number): Session | undefined {
    const session = this.#byHost.get(host);
    if (session === undefined) return undefined;
    this.#byHost.delete(host);
    const same = this.#byClient.get(session.client);
    same?.delete(session);
    if (same?.size === 0) this.#byClient.delete(session.client);
    return session;
  }

  clear(): void {
    for (const host of [...this.#byHost.keys()]) this.closed(host);
  }
}
