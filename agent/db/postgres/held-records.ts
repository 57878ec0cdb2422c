import type { DatabaseEvent, EngineSession } from "../engine.ts";

/** Events of a session on their way to its audit, from messages of both sides; the client waits while the audit has no room. */
export class HeldRecords {
  readonly #session: Pick<EngineSession, "record">;
  readonly #onLost: (thrown: unknown) => void;
  #held: Promise<void> | undefined;

  /** `onLost`: the audit cannot be kept, and the session must end. */
  constructor(session: Pick<EngineSession, "record">, onLost: (thrown: unknown) => void) {
    this.#session = session;
    this.#onLost = onLost;
  }

  /** Resolves when there is room again; undefined: there is. */
  get held(): Promise<void> | undefined {
    return this.#held;
  }

  readonly record = (event: DatabaseEvent): void => {
    const room = this.#session.record(event);
    if (room === undefined || room === this.#held) return;
    this.#held = room;
    const release = (): void => {
      if (this.#held === room) this.#held = undefined;
    };
    room.then(release, (thrown: unknown) => {
      release();
      this.#onLost(thrown);
    });
  };
}
