import type { DatabaseEvent } from "../../agent/db/engine.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { EngineSessionOptions } from "./engine-session.ts";
import { turns } from "./turns.ts";

/** The audit of a strict session whose events become safe when the test lets them. */
export class LateAudit {
  readonly events: DatabaseEvent[] = [];
  readonly options: Pick<EngineSessionOptions, "record" | "isStrict"> = { isStrict: true, record: (event) => this.#record(event) };
  #waiting = Promise.withResolvers<void>();
  #next = Promise.withResolvers<void>();

  constructor() {
    this.#waiting.promise.catch(() => {});
  }

  /** Waits until so many events were recorded, and then for what an engine does at once. */
  async recorded(count: number): Promise<void> {
    while (this.events.length < count) await this.#next.promise;
    await turns();
  }

  /** What was recorded so far is safe. */
  release(): void {
    this.#waiting.resolve();
    this.#waiting = Promise.withResolvers();
  }

  fail(why: PlatformError): void {
    this.#waiting.reject(why);
  }

  #record(event: DatabaseEvent): Promise<void> {
    this.events.push(event);
    this.#next.resolve();
    this.#next = Promise.withResolvers();
    return this.#waiting.promise;
  }
}
