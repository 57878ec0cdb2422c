import { readDocuments } from "../../core/resources/document.ts";
import { type Recording, recordingDocument } from "../../core/resources/recording.ts";
import { activeSessions, sessionsResult } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { limitOption, timeOption } from "./list-options.ts";

/** `tctl sessions ls`: lists the running terminal sessions. */
export async function listSessions(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => sessionsResult(await activeSessions(client)));
}

const usualLimit = 100;

/** `tctl recordings ls`: lists recordings, newest first. */
export async function listRecordings(call: Call): Promise<Result> {
  const { options } = call;
  const now = new Date();
  const wanted = limitOption(options.text("limit"), { usual: usualLimit, of: "recordings" });
  const filter = {
    from: timeOption(options.text("from"), "--from", now),
    to: timeOption(options.text("to"), "--to", now),
    user: options.text("user") ?? "",
  };
  return await withAdmin(call, async ({ client }) => {
    const found: Recording[] = [];
    let cursor = "";
    do {
      const page = await client.listRecordings({ ...filter, limit: Math.min(1000, wanted - found.length), cursor });
      found.push(...readDocuments(recordingDocument, page.recordingsJson));
      cursor = page.cursor;
    } while (cursor !== "" && found.length < wanted);
    const notes = cursor === "" ? [] : [`these are the newest ${found.length}; --limit shows more`];
    return { data: found, text: recordingsTable(found), notes };
  });
}

function recordingsTable(recordings: readonly Recording[]): string {
  const rows = recordings.map(({ sid, started, ended, user, bytes, state, ...where }) => [
    sid,
    started.replace(/\.\d+Z$/, "Z"),
    user,
    placeText(where),
    ended === undefined ? "" : durationText(Date.parse(ended) - Date.parse(started)),
    sizeText(bytes),
    state,
  ]);
  return renderTable(["Session", "Started", "User", "Where", "Length", "Size", "State"], rows);
}

/** `root@web-1`; for other services their kind and resource: `app/orders`. */
function placeText({ kind, login, server_name: host, resource = host }: Pick<Recording, "kind" | "login" | "server_name" | "resource">): string {
  return kind === undefined ? `${login ?? ""}@${host}` : `${kind}/${resource}`;
}

/** `1:02:03`, `2:03`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
