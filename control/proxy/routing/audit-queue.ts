import { randomUUID } from "node:crypto";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { auditEventDocument, makeAuditEvent } from "../../../core/audit/audit-event.ts";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import { RefusalLimit, suppressedText } from "../../limits/refusal-limit.ts";
import { wait } from "../wait.ts";

export interface AuditQueueOptions {
  readonly auth: AuthClient;
  readonly log: Log;
  readonly clusterName: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Maximum number of events kept while the auth service is unreachable; the oldest are dropped first, which is logged. */
const maxQueued = 10_000;
const batch = 100;

/** Sends audit events to the auth service in order, and never blocks the caller. An event is sent again until acknowledged. */
export class AuditQueue {
  readonly #options: AuditQueueOptions;
  readonly #refusals = new RefusalLimit();
  #waiting: string[] = [];
  #dropped = 0;
  #sending: Promise<void> | undefined;

  constructor(options: AuditQueueOptions) {
    this.#options = options;
  }

  /** Records a refusal: limited per client; `sumUp` records the number of omitted ones. */
  emitRefusal(facts: AuditFacts): void {
    this.sumUp();
    if (this.#refusals.take(facts["addr.remote"] ?? "", this.#options.now())) this.emit(facts);
  }

  /** Call this regularly, and with `all` at the end. */
  sumUp(all = false): void {
    for (const { client, count } of this.#refusals.ended(this.#options.now(), all)) {
      this.emit({ event: "auth", error: suppressedText(count), "addr.remote": client });
    }
  }

  emit(facts: AuditFacts): void {
    const { clusterName, now, log } = this.#options;
    try {
      this.#waiting.push(writeDocument(auditEventDocument, makeAuditEvent(facts, { clusterName, now: now(), uid: randomUUID() })));
    } catch (error) {
      log.error("an audit event is malformed", { event: facts.event, error: errorText(error) });
      return;
    }
    if (this.#waiting.length > maxQueued) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Resolves when all that was emitted is acknowledged, or sending was abandoned at the signal. */
  async flushed(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { auth, log, signal } = this.#options;
    for (let failures = 0; this.#waiting.length > 0 && !signal.aborted; ) {
      const events = this.#waiting.slice(0, batch);
      try {
        await auth.emitEvents({ eventsJson: events });
        const sent = new Set(events);
        this.#waiting = this.#waiting.filter((event) => !sent.has(event));
        failures = 0;
        if (this.#dropped > 0) log.error("audit events were lost while the auth service was unreachable", { lost: this.#dropped });
        this.#dropped = 0;
      } catch (error) {
        log.warn("audit events are waiting for the auth service", { waiting: this.#waiting.length, error: errorText(error) });
        failures += 1;
        await wait(backOffDelay(failures, Math.random()), signal);
      }
    }
  }
}
