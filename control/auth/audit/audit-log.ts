import { randomUUID } from "node:crypto";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { type AuditEvent, type AuditFacts, makeAuditEvent } from "../../../core/resources/audit-event.ts";
import type { AuditStore } from "./audit-store.ts";

/** The one writer of audit events. */
export interface AuditLog {
  /**
   * Records what this service did or refused; durable when it returns. Throws when it cannot: whoever acknowledges
   * something that must be audited emits first.
   */
  emit(facts: AuditFacts): void;
  /** Records a refusal: a failure to record goes to the log, because the caller is refused either way. */
  emitRefusal(facts: AuditFacts): void;
  /** Events of hosts, checked before. */
  append(events: readonly AuditEvent[]): void;
}

export function createAuditLog(store: AuditStore, deps: { clusterName: string; now: () => Date; log: Log }): AuditLog {
  const emit = (facts: AuditFacts): void => {
    store.append([makeAuditEvent(facts, { clusterName: deps.clusterName, now: deps.now(), uid: randomUUID() })]);
  };
  return {
    emit,
    emitRefusal: (facts) => {
      try {
        emit(facts);
      } catch (thrown) {
        deps.log.error("an audit event could not be stored", { event: facts.event, error: errorText(thrown) });
      }
    },
    append: (events) => store.append(events),
  };
}
