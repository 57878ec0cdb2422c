import { randomUUID } from "node:crypto";
import type { ActiveSession } from "../../core/resources/session.ts";

/** A session that runs in this process. */
export interface LiveSession {
  readonly sid: string;
  describe(): Omit<ActiveSession, "process">;
}

/** The sessions that run in this process. */
export class LiveSessions {
  /** Identifies this process: an older process of the host has its own sessions. */
  readonly process = randomUUID();
  /** A session began or ended, or somebody joined or left one. */
  onNews: () => void = () => {};
  readonly #open = new Map<string, LiveSession>();

  find(sid: string): LiveSession | undefined {
    return this.#open.get(sid);
  }

  add(session: LiveSession): void {
    this.#open.set(session.sid, session);
    this.onNews();
  }

  remove(session: LiveSession): void {
    if (this.#open.get(session.sid) === session) this.#open.delete(session.sid);
    this.onNews();
  }

  list(): ActiveSession[] {
    return [...this.#open.values()].map((session) => ({ ...session.describe(), process: this.process }));
  }
}
