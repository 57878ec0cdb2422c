import { makeAuditEvent } from "../../../core/audit/audit-event.ts";
import type { AuditEvent, AuditFacts } from "../../../core/audit/audit-events.ts";
import { newEventUid } from "../../../core/audit/event-uid.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { RefusalLimit, suppressedText } from "../../limits/refusal-limit.ts";
import type { AuditStore } from "./audit-store.ts";
import { SharedCommits } from "./shared-commits.ts";

/** The one writer of audit events. */
export interface AuditLog {
  /**
   * Records an action or a refusal of this service; durable when it returns. Throws on failure: a caller that acknowledges
   * an audited action must emit the event first.
   */
  emit(facts: AuditFacts): void;
  /** The same for what no user waits for: together with events of hosts. Durable when it resolves. */
  record(facts: AuditFacts): Promise<void>;
  /**
   * Records a refusal: a failure to do so is logged, because the caller is refused either way. Refused certificates, calls
   * and confirmations of sessions are limited per client; `sumUp` records the number of omitted ones. `isWrongTry`: recorded individually, because
   * wrong tries lock the name.
   */
  emitRefusal(facts: AuditFacts, options?: { readonly isWrongTry?: boolean }): void;
  /** Call this regularly, and with `all` at the end. */
  sumUp(all?: boolean): void;
  /** Records events of hosts that were already checked, together with those of other calls; they are durable when it resolves. */
  append(events: readonly AuditEvent[]): Promise<void>;
}

export interface AuditLogDeps {
  readonly clusterName: string;
  readonly now: () => Date;
  readonly log: Log;
  /** The disk is nearly full: refusals, which anyone can cause, only go to the log. */
  readonly isLow?: () => boolean;
}

/** Key of refusals that are summed up together. */
type Kind =
  | { readonly event: "cert.refused" }
  | { readonly event: "access.denied"; readonly user: string; readonly method: string }
  | (Extract<AuditFacts, { readonly event: "mfa_auth_challenge.validate" }> & { readonly success: false });
const several: Kind = { event: "access.denied", user: "(several)", method: "(several)" };

/** Undefined: recorded one by one. */
function kindOf(facts: AuditFacts): Kind | undefined {
  if (facts.event === "cert.refused") return { event: facts.event };
  if (facts.event === "access.denied") return { event: facts.event, user: facts.user, method: facts.method };
  if (facts.event !== "mfa_auth_challenge.validate") return undefined;
  const { event, user, mfa_device } = facts;
  return { event, user, mfa_device, success: false, resource_kind: "(several)", resource_name: "(several)" };
}

export function createAuditLog(store: AuditStore, deps: AuditLogDeps): AuditLog {
  const made = (facts: AuditFacts): AuditEvent => {
    const now = deps.now();
    return makeAuditEvent(facts, { clusterName: deps.clusterName, now, uid: newEventUid(now) });
  };
  const emit = (facts: AuditFacts): void => store.append([made(facts)]);
  const attempt = (facts: AuditFacts): void => {
    if (deps.isLow?.() === true) {
      deps.log.warn("refusal not recorded in the audit log: the disk is nearly full", { refusal: JSON.stringify(facts) });
      return;
    }
    try {
      emit(facts);
    } catch (thrown) {
      deps.log.error("could not store an audit event", { event: facts.event, error: errorText(thrown) });
    }
  };
  const commits = new SharedCommits(store);
  const limit = new RefusalLimit<Kind>();
  const sumUp = (all = false): void => {
    for (const { client, count, kind } of limit.ended(deps.now(), all)) {
      attempt({ ...(kind ?? several), error: suppressedText(count), "addr.remote": client });
    }
  };
  return {
    emit,
    record: async (facts) => await commits.append([made(facts)]),
    emitRefusal: (facts, { isWrongTry = false } = {}) => {
      sumUp();
      // The others are bounded elsewhere: by the limit on calls without a certificate, or by the lock of a name after wrong passwords and codes.
      const kind = isWrongTry ? undefined : kindOf(facts);
      if (kind === undefined || limit.take(facts["addr.remote"] ?? "", deps.now(), kind)) attempt(facts);
    },
    sumUp,
    append: async (events) => await commits.append(events),
  };
}
