import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocument, writeDocument, writeDocuments } from "../../../core/resources/document.ts";
import { type Recording, recordingDocument, recordingEndDocument, recordingFactsDocument } from "../../../core/resources/recording.ts";
import { parseTime } from "./audit-methods.ts";
import { type Caller, callerName, hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule, requireRule } from "./permissions.ts";

type Methods = Handlers<"uploadRecording" | "listRecordings" | "readRecording">;

const maxPage = 1_000;

export function recordingMethods(api: Api): Methods {
  const { context } = api;
  const { recordings } = context;
  return {
    uploadRecording: async ({ factsJson, offset, data, endJson }, caller) => {
      const host = hostOf(caller);
      context.quotas.recording(host, data.length);
      const facts = readDocument(recordingFactsDocument, factsJson);
      const end = endJson === "" ? undefined : readDocument(recordingEndDocument, endJson);
      return { size: await recordings.append({ facts, offset, data, end }, host) };
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
    readRecording: async function* ({ sessionId }, caller) {
      const recording = await readable(api, caller, sessionId);
      const { sid, user: name } = recording;
      const who = { user: callerName(caller), "addr.remote": caller.address };
      context.audit.emit({ event: "session.recording.access", ...who, name, sid });
      yield { recordingJson: writeDocument(recordingDocument, recording) };
      for await (const data of recordings.read(recording)) yield { data };
    },
  };
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
