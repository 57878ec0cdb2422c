import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import type { SessionChannel } from "./session-channel.ts";

/** Records an event that has already happened: a failure is only logged. */
export async function recordLate({ sid, facts: { deps } }: Pick<SessionChannel, "sid" | "facts">, event: AuditFacts): Promise<void> {
  try {
    await deps.audit.record(event);
  } catch (thrown) {
    deps.log.error("could not record an event of a session", { sid, event: event.event, error: errorText(thrown) });
  }
}
