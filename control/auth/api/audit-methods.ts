import { auditEventDocument } from "../../../core/audit/audit-event.ts";
import { type AuditEvent, mayReport } from "../../../core/audit/audit-events.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { readDocuments } from "../../../core/resources/document.ts";
import { hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"emitEvents" | "listEvents">;

const maxEventsAtOnce = 500;
const maxPage = 1_000;

export function auditMethods(api: Api): Methods {
  const { context } = api;
  return {
    emitEvents: async ({ eventsJson }, caller) => {
      const host = hostOf(caller);
      if (eventsJson.length > maxEventsAtOnce)
        throw new PlatformError("limit", `too many events in one call: ${eventsJson.length}; the maximum is ${maxEventsAtOnce}`);
      context.room.require("events");
      context.quotas.events(host, eventsJson);
      const events = readDocuments(auditEventDocument, eventsJson);
      for (const event of events) checkOrigin(event, host);
      context.audit.append(events);
      return {};
    },
    listEvents: async ({ from, to, events, user, limit, cursor, newest }) => {
      const page = context.auditStore.list({
        from: parseTime(from, "from"),
        to: parseTime(to, "to"),
        events: events.slice(0, 64),
        user: user === "" ? undefined : user,
        limit: limit === 0 ? maxPage : Math.min(limit, maxPage),
        cursor: cursor === "" ? undefined : cursor,
        newest,
      });
      return { eventsJson: [...page.lines], cursor: page.cursor, resume: page.resume };
    },
  };
}

function checkOrigin(event: AuditEvent, host: HostIdentity): void {
  if (!mayReport(host.role, event.event)) {
    throw new PlatformError("denied", `access denied: a host of role ${host.role} may not report ${event.event}`);
  }
  const named = "server_id" in event ? event.server_id : undefined;
  if (host.role === "node" && named !== host.id) throw new PlatformError("denied", `access denied: host ${host.id} may report only its own events`);
  if (event.cluster_name !== host.cluster) throw new PlatformError("invalid", `the audit event is of another cluster, ${event.cluster_name}`);
}

/** RFC 3339; empty: undefined. Throws `invalid`. */
export function parseTime(text: string, what: string): Date | undefined {
  if (text === "") return undefined;
  const parsed = new Date(text);
  if (Number.isNaN(parsed.getTime()))
    throw new PlatformError("invalid", `${what}: ${JSON.stringify(text.slice(0, 64))} is not a time like 2026-01-31T12:00:00Z`);
  return parsed;
}
