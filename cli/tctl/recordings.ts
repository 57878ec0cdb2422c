import { PlatformError } from "../../core/errors/platform-error.ts";
import { readDocuments } from "../../core/resources/document.ts";
import { type Recording, recordingDocument } from "../../core/resources/recording.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { timeOption } from "./audit.ts";
import { withAdmin } from "./connect.ts";

const usualLimit = 100;

/** `tctl recordings ls`: lists recordings, newest first. */
export async function listRecordings(call: Call): Promise<Result> {
  const { options } = call;
  const now = new Date();
  const wanted = limitOption(options.text("limit"));
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

export function recordingsTable(recordings: readonly Recording[]): string {
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

function limitOption(text: string | undefined): number {
  if (text === undefined) return usualLimit;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new PlatformError("invalid", `--limit: ${JSON.stringify(text)} is not a number of recordings`, { hint: "give 1 to 999999" });
}
