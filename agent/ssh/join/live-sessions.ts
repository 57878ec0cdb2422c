import { randomUUID } from "node:crypto";
import type { ActiveSession } from "../../../core/resources/session.ts";
import type { SharedTerminal } from "./shared-terminal.ts";

/** The terminal sessions that run in this process. */
export class LiveSessions {
  /** Of this process: an older one of the host has sessions of its own. */
  readonly process = randomUUID();
  /** There is another session, one less, or another one takes part. */
  onNews: () => void = () => {};
  readonly #open = new Map<string, SharedTerminal>();

  find(sid: string): SharedTerminal | undefined {
    return this.#open.get(sid);
  }

  add(terminal: SharedTerminal): void {
    this.#open.set(terminal.facts.sid, terminal);
    this.onNews();
  }

  remove(terminal: SharedTerminal): void {
    if (this.#open.get(terminal.facts.sid) === terminal) this.#open.delete(terminal.facts.sid);
    this.onNews();
  }

  list(): ActiveSession[] {
    return [...this.#open.values()].map(({ facts, participants }) => ({
      kind: "ssh",
      ...facts,
      roles: [...facts.roles],
      participants,
      process: this.process,
    }));
  }
}
