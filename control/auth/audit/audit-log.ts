import { randomUUID } from "node:crypto";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { makeAuditEvent } from "../../../core/resources/audit-event.ts";
import type { AuditEvent, AuditFacts } from "../../../core/resources/audit-event-schema.ts";
import { RefusalLimit, suppressedText } from "../../limits/refusal-limit.ts";
import type { AuditStore } from "./audit-store.ts";

/** The one writer of audit events. */
export interface AuditLog {
  /**
   * Records what this service did or refused; durable when it returns. Throws when it cannot: whoever acknowledges
   * something that must be audited emits first.
   */
  emit(facts: AuditFacts): void;
  /**
   * Records a refusal: a failure to record goes to the log, because the caller is refused either way. Refused certificates
   * and calls are bounded for each client; `sumUp` records how many were left out.
   */
  emitRefusal(facts: AuditFacts): void;
  /** To call now and then, and with `all` at the end. */
  sumUp(all?: boolean): void;
  /** Events of hosts, checked before. */
  append(events: readonly AuditEvent[]): void;
}

export interface AuditLogDeps {
  readonly clusterName: string;
  readonly now: () => Date;
  readonly log: Log;
  /** The disk is nearly full: refusals, which anybody can cause, go to the log alone. */
  readonly isLow?: () => boolean;
}

/** What refusals that are summed up have in common. */
type Kind = { readonly event: "cert.refused" } | { readonly event: "access.denied"; readonly user: string; readonly method: string };
const several: Kind = { event: "access.denied", user: "(several)", method: "(several)" };

/** Undefined: recorded one by one. */
function kindOf(facts: AuditFacts): Kind | undefined {
  if (facts.event === "cert.refused") return { event: facts.event };
  return facts.event === "access.denied" ? { event: facts.event, user: facts.user, method: facts.method } : undefined;
}

export function createAuditLog(store: AuditStore, deps: AuditLogDeps): AuditLog {
  const emit = (facts: AuditFacts): void => {
    store.append([makeAuditEvent(facts, { clusterName: deps.clusterName, now: deps.now(), uid: randomUUID() })]);
  };
  const attempt = (facts: AuditFacts): void => {
    if (deps.isLow?.() === true) {
      deps.log.warn("a refusal is not in the audit log: the disk is nearly full", { refusal: JSON.stringify(facts) });
      return;
    }
    try {
      emit(facts);
    } catch (thrown) {
      deps.log.error("an audit event could not be stored", { event: facts.event, error: errorText(thrown) });
    }
  };
  const limit = new RefusalLimit<Kind>();
  const sumUp = (all = false): void => {
    for (const { client, count, kind } of limit.ended(deps.now(), all)) {
      attempt({ ...(kind ?? several), error: suppressedText(count), "addr.remote": client });
    }
  };
  return {
    emit,
    emitRefusal: (facts) => {
      sumUp();
      // The others are bounded by the limit on calls without a certificate.
      const kind = kindOf(facts);
      if (kind === undefined || limit.take(facts["addr.remote"] ?? "", deps.now(), kind)) attempt(facts);
    },
    sumUp,
    append: (events) => store.append(events),
  };
}
