import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import type { ServiceDeps } from "./deps.ts";

/** Records an event of something that has happened already: a failure is only logged. Never throws. */
export async function recordOrLog({ audit, log }: Pick<ServiceDeps, "audit" | "log">, event: AuditFacts): Promise<void> {
  try {
    await audit.record(event);
  } catch (thrown) {
    log.error("could not record an audit event", { event: event.event, sid: "sid" in event ? event.sid : undefined, error: errorText(thrown) });
  }
}
