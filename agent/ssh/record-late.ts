import { errorText } from "../../core/errors/platform-error.ts";
import type { AuditFacts } from "../../core/resources/audit-event-schema.ts";
import type { SessionChannel } from "./session-channel.ts";

/** Records what has happened already: when that fails, the log has it, and nothing else changes. */
export async function recordLate({ sid, facts: { deps } }: Pick<SessionChannel, "sid" | "facts">, event: AuditFacts): Promise<void> {
  try {
    await deps.audit.record(event);
  } catch (thrown) {
    deps.log.error("an event of a session could not be recorded", { sid, event: event.event, error: errorText(thrown) });
  }
}
