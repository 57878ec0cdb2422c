import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { DatabaseEvent } from "./engine.ts";

export interface AuditQueueOptions {
  /** Resolves once the event is safe. */
  readonly record: (event: DatabaseEvent) => Promise<void>;
  readonly log: Log;
  /**
   * Of a session in which nothing happens that is not recorded (`record_session: strict`): ends it when an event cannot be kept, at most once. Left out: that is
   * only logged.
   */
  readonly end?: ((why: PlatformError) => void) | undefined;
}

/** Number of events that are not safe yet, at which the client waits: in a strict session for each of them. */
const maxWaiting = 256;
const maxWaitingStrict = 1;
/** Time for the last events of a session, ms. */
const settleMs = 10_000;

/** Events of one session on their way to the audit: in order, and never more of them than fit. */
export class AuditQueue {
  readonly #options: AuditQueueOptions;
  readonly #most: number;
  #waiting = 0;
  #failure: PlatformError | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: AuditQueueOptions) {
    this.#options = options;
    this.#most = options.end === undefined ? maxWaiting : maxWaitingStrict;
  }

  /**
   * Undefined: taken. A promise: wait before the next one; of a strict session, before what the event is about: it resolves once all events so far are safe. It
   * rejects when the session has to end.
   */
  add(event: DatabaseEvent): Promise<void> | undefined {
    if (this.#failure !== undefined) return owned(Promise.reject(this.#failure));
    this.#waiting += 1;
    this.#record(event);
    if (this.#waiting < this.#most) return undefined;
    this.#room ??= Promise.withResolvers();
    return owned(this.#room.promise);
  }

  /** Waits until all events are safe or lost, or the time is up. Never throws. */
  async settled(limitMs = settleMs): Promise<void> {
    if (this.#waiting === 0) return;
    this.#idle ??= Promise.withResolvers();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, limitMs);
    await Promise.race([this.#idle.promise, late]);
    clearTimeout(timer);
    if (this.#waiting > 0) this.#options.log.error("audit events of a database session are not safe yet", { events: this.#waiting });
  }

  /** Of an event that waits for the disk, no more than its name is held here. */
  #record(event: DatabaseEvent): void {
    const { event: name } = event;
    this.#options.record(event).then(
      () => this.#recorded(),
      (thrown: unknown) => {
        const { log, end } = this.#options;
        log.error("could not record an audit event of a database session", { event: name, error: thrown });
        if (end !== undefined) this.#fail(thrown, end);
        this.#recorded();
      },
    );
  }

  #recorded(): void {
    this.#waiting -= 1;
    if (this.#waiting < this.#most / 2) this.#open();
    if (this.#waiting === 0) this.#idle?.resolve();
  }

  #open(): void {
    const room = this.#room;
    this.#room = undefined;
    if (this.#failure === undefined) room?.resolve();
  }

  #fail(cause: unknown, end: (why: PlatformError) => void): void {
    if (this.#failure !== undefined) return;
    const why = "this connection was ended: the host could not record what it did (record_session: strict)";
    this.#failure = new PlatformError("unavailable", why, { cause, hint: "try again once the host can send audit events" });
    const room = this.#room;
    this.#room = undefined;
    room?.reject(this.#failure);
    end(this.#failure);
  }
}

/** A caller that does not wait learns of the failure by the end of its session. */
function owned(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
