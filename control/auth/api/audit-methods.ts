import type { UploadRecordingRequest } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { readReportedEvent } from "../../../core/audit/audit-event.ts";
import { type AuditEvent, mayReport } from "../../../core/audit/audit-events.ts";
import { eventsInCall } from "../../../core/audit/events-in-call.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { readDocument, writeDocument, writeDocuments } from "../../../core/resources/document.ts";
import { type Recording, recordingDocument, recordingEndDocument, recordingFactsDocument } from "../../../core/resources/recording.ts";
import { DroppedFields } from "../audit/dropped-fields.ts";
import { type AuditQuery, givenUp } from "../audit/read-events.ts";
import { RecentViews } from "../recordings/recent-views.ts";
import { type Caller, callerName, hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule, requireRule } from "./permissions.ts";

/** Agents of earlier builds do not count them: their calls are bounded by 500,000 bytes alone. */
const maxEventsAtOnce = eventsInCall * 4;
const maxRecordingsAtOnce = 64;
const maxPage = 1_000;

export function auditMethods(api: Api): Handlers<"emitEvents" | "listEvents"> {
  const { context } = api;
  const dropped = new DroppedFields(context.log);
  return {
    emitEvents: async ({ eventsJson }, caller) => {
      const host = hostOf(caller);
      if (eventsJson.length > maxEventsAtOnce)
        throw new PlatformError("limit", `too many events in one call: ${eventsJson.length}; the maximum is ${maxEventsAtOnce}`);
      context.room.require("events");
      context.quotas.events(host, eventsJson);
      const reported = eventsJson.map(readReportedEvent);
      for (const { event } of reported) checkOrigin(event, host);
      await context.audit.append(reported.map(({ event }) => event));
      for (const one of reported) dropped.note(host.id, one);
      return {};
    },
    listEvents: async ({ from, to, events, user, limit, cursor, newest }, caller, signal) => {
      const query: AuditQuery = {
        from: parseTime(from, "from"),
        to: parseTime(to, "to"),
        events: events.slice(0, 64),
        user: user === "" ? undefined : user,
        limit: limit === 0 ? maxPage : Math.min(limit, maxPage),
        cursor: cursor === "" ? undefined : cursor,
        newest,
      };
      const { queues, auditStore, longSearches } = context;
      const search = async () => await auditStore.list(query, { signal, longSearches });
      const page = await queues(`events ${callerName(caller)}`, search, signal).catch((thrown: unknown) => {
        throw signal.aborted ? givenUp(signal) : thrown;
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
function parseTime(text: string, what: string): Date | undefined {
  if (text === "") return undefined;
  const parsed = new Date(text);
  if (Number.isNaN(parsed.getTime()))
    throw new PlatformError("invalid", `${what}: ${JSON.stringify(text.slice(0, 64))} is not a time like 2026-01-31T12:00:00Z`);
  return parsed;
}

export function recordingMethods(api: Api): Handlers<"uploadRecording" | "uploadRecordings" | "listRecordings" | "readRecording" | "indexRecording"> {
  const { context } = api;
  const { recordings } = context;
  const views = new RecentViews();
  const upload = async ({ factsJson, offset, data, endJson }: UploadRecordingRequest, caller: Caller): Promise<number> => {
    const host = hostOf(caller);
    context.quotas.recording(host, data.length);
    const facts = readDocument(recordingFactsDocument, factsJson);
    const end = endJson === "" ? undefined : readDocument(recordingEndDocument, endJson);
    return await recordings.append({ facts, offset, data, end }, host);
  };
  return {
    uploadRecording: async (part, caller) => ({ size: await upload(part, caller) }),
    // At once: their events and rows share commits.
    uploadRecordings: async ({ parts }, caller) => {
      if (parts.length > maxRecordingsAtOnce)
        throw new PlatformError("limit", `too many recordings in one call: ${parts.length}; the maximum is ${maxRecordingsAtOnce}`);
      const sizes = await Promise.allSettled(parts.map(async (part) => await upload(part, caller)));
      return { recordings: sizes.map((one) => (one.status === "fulfilled" ? { size: one.value } : refusedPart(one.reason))) };
    },
    listRecordings: async ({ from, to, user, limit, cursor }, caller) => {
      const own = (await hasRule(context, caller, { resource: "session", verb: "list" })) ? undefined : callerName(caller);
      const empty = (text: string): string | undefined => (text === "" ? undefined : text);
      // The name of another user finds nothing, as if there were no recordings.
      if (own !== undefined && user !== "" && user !== own) return { recordingsJson: [], cursor: "" };
      const page = recordings.list({
        from: parseTime(from, "from"),
        to: parseTime(to, "to"),
        user: own ?? empty(user),
        limit: limit === 0 ? maxPage : Math.min(limit, maxPage),
        cursor: empty(cursor),
      });
      return { recordingsJson: writeDocuments(recordingDocument, page.recordings), cursor: page.cursor };
    },
    readRecording: async function* ({ sessionId, offset, length }, caller) {
      const recording = await readable(api, caller, sessionId);
      const { sid, user: name } = recording;
      const who = { user: callerName(caller), "addr.remote": caller.address };
      const view = `${who.user} ${caller.address} ${sid}`;
      // A player reads in parts: those after the beginning belong to the same view.
      if (offset === 0 || !views.has(view, context.now())) {
        context.audit.emit({ event: "session.recording.access", ...who, name, sid });
        views.add(view, context.now());
      }
      yield { recordingJson: writeDocument(recordingDocument, recording) };
      for await (const data of recordings.read(recording, { offset, length: length === 0 ? recording.bytes : length })) yield { data };
    },
    indexRecording: async ({ sessionId }, caller) => {
      const recording = await readable(api, caller, sessionId);
      return { recordingJson: writeDocument(recordingDocument, recording), points: [...(await recordings.index(recording))] };
    },
  };
}

function refusedPart(thrown: unknown): { readonly code: string; readonly message: string } {
  const { code, message } = toPlatformError(thrown);
  return { code, message };
}

/** The recording, if the caller may see it. The refusal does not reveal whether it exists. */
async function readable(api: Api, caller: Caller, sid: string): Promise<Recording> {
  const found = api.context.recordings.find(sid);
  const isOwn = found !== undefined && caller.kind === "user" && caller.identity.name === found.user;
  if (!isOwn) await requireRule(api.context, caller, { resource: "session", verb: "read" });
  if (found !== undefined) return found;
  throw new PlatformError("not_found", `there is no recording of session ${JSON.stringify(sid.slice(0, 64))}`, {
    hint: "tctl recordings ls lists the recordings",
  });
}
