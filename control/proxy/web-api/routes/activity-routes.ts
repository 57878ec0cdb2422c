import { z } from "zod";
import { eventPageSchema, recordingPageSchema, runningSessionsSchema } from "../../../../core/api/web/activity.ts";
import { type DocumentKind, readDocuments } from "../../../../core/resources/document.ts";
import { recordingDocument } from "../../../../core/resources/recording.ts";
import { listedSessionDocument } from "../../../../core/resources/session.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const time = z.union([z.iso.datetime({ offset: true }), z.literal("")]).default("");
const cursor = z.string().max(512).default("");
const user = z.string().max(256).default("");
/** Entries of one answer. */
const most = 1000;
const limit = z.coerce.number().int().min(1).max(most).default(most);

/** An event as it was recorded: a newer auth service may have events and facts that this version does not know. */
const anyEvent: DocumentKind<Record<string, unknown>> = {
  name: "audit_event",
  schema: z.record(z.string(), z.unknown()),
  what: "an audit event",
  maxBytes: 1_000_000,
};

/** What happens and what happened: running sessions, recordings, the audit log. */
export function activityRoutes(api: Api): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/running-sessions",
    summary: "Lists the running sessions that the user may see or join, the newest first.",
    schema: { answer: runningSessionsSchema },
    handler: async ({ auth }) => ({ sessions: readDocuments(listedSessionDocument, (await auth.listSessions({})).sessionsJson) }),
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/recordings",
    summary: "Lists recordings, the newest first; `from` and `to` bound the beginning of the session.",
    schema: { query: z.strictObject({ from: time, to: time, user, limit, cursor }), answer: recordingPageSchema },
    handler: async ({ auth, query, signal }) => {
      const page = await auth.listRecordings(query, { signal });
      return { recordings: readDocuments(recordingDocument, page.recordingsJson), cursor: page.cursor };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/events",
    summary: "Lists events of the audit log, the oldest first; `newest` begins at the newest so many, `cursor` goes on after an earlier answer.",
    schema: {
      query: z.strictObject({
        from: time,
        to: time,
        user,
        event: z.string().max(64).default(""),
        newest: z.coerce.number().int().min(0).max(100_000).default(0),
        limit,
        cursor,
      }),
      answer: eventPageSchema,
    },
    handler: async ({ auth, query: { event, ...wanted }, signal }) => {
      const page = await auth.listEvents({ ...wanted, events: event === "" ? [] : [event] }, { signal });
      return { events: readDocuments(anyEvent, page.eventsJson), cursor: page.cursor, resume: page.resume };
    },
  });
}
