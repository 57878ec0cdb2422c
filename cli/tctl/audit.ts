import type { AuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** Most events of one answer of the auth service. */
const page = 1000;

export interface AuditAsk {
  readonly from: string;
  readonly to: string;
  readonly events: readonly string[];
  readonly user: string;
  /** The newest so many. */
  readonly limit: number;
}

/** `tctl audit ls`: the newest events, oldest first. */
export async function listAudit(call: Call): Promise<Result> {
  const { options } = call;
  const now = new Date();
  const ask: AuditAsk = {
    from: timeOption(options.text("from"), "--from", now),
    to: timeOption(options.text("to"), "--to", now),
    events: options.list("event"),
    user: options.text("user") ?? "",
    limit: limitOption(options.text("limit")),
  };
  return await withAdmin(call, async ({ client }) => {
    const events = await newestEvents(client, ask);
    return { data: events, text: auditTable(events), many: true };
  });
}

type Event = Readonly<Record<string, unknown>>;

async function newestEvents(client: AuthClient, ask: AuditAsk): Promise<readonly Event[]> {
  let newest: string[] = [];
  let cursor = "";
  do {
    const answer = await client.listEvents({ from: ask.from, to: ask.to, events: [...ask.events], user: ask.user, limit: page, cursor });
    newest = [...newest, ...answer.eventsJson].slice(-ask.limit);
    cursor = answer.cursor;
  } while (cursor !== "");
  return newest.map((json) => JSON.parse(json) as Event);
}

/** Fields that have a column, say the same on every line, or are told by another one. JSON has them all. */
const leftOut = new Set(["time", "event", "code", "user", "uid", "cluster_name", "success", "session_start"]);
/** What a reader looks for comes first. */
const first = ["error", "name", "login", "server_name", "command", "exit_code", "addr.remote"];
/** Longest value shown, characters. */
const maxValue = 60;

export function auditTable(events: readonly Event[]): string {
  const rows = events.map((event) => {
    const details = Object.entries(event)
      .filter(([name, value]) => !leftOut.has(name) && value !== undefined && value !== "" && !(name === "server_id" && "server_name" in event))
      .sort(([a], [b]) => rank(a) - rank(b))
      .map(([name, value]) => `${name}=${detail(value)}`);
    const outcome = event.success === false ? ["REFUSED"] : [];
    return [textOf(event.time).replace(/\.\d+Z$/, "Z"), textOf(event.event), shortActor(textOf(event.user)), [...outcome, ...details].join(" ")];
  });
  return renderTable(["Time", "Event", "User", "Details"], rows);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Hosts act as `auth:<id>`. */
function shortActor(user: string): string {
  return user.replace(/^(auth|proxy|node):([0-9a-f]{8})-[0-9a-f-]{27}$/, "$1:$2");
}

function rank(name: string): number {
  const index = first.indexOf(name);
  return index < 0 ? first.length : index;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** One value: ids by their first eight digits, long texts cut. */
function detail(value: unknown): string {
  if (typeof value === "string" && uuid.test(value)) return value.slice(0, 8);
  if (typeof value === "string" && value.length > maxValue) return JSON.stringify(`${value.slice(0, maxValue - 1)}…`);
  if (typeof value === "string") return /^[\x21-\x7e]+$/.test(value) && !value.includes('"') ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

/** RFC 3339, a date, or a duration before now (`2h`), as RFC 3339; absent is empty. */
export function timeOption(text: string | undefined, flag: string, now: Date): string {
  if (text === undefined) return "";
  if (/^(\d+[smhd])+$/.test(text)) return new Date(now.getTime() - parseDuration(text) * 1000).toISOString();
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? new Date(text) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new PlatformError("invalid", `${flag}: ${JSON.stringify(text)} is not a time`, {
    hint: 'write it like "2026-01-31", "2026-01-31T09:30:00Z" or "2h" (before now)',
  });
}

function limitOption(text: string | undefined): number {
  if (text === undefined) return page;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new PlatformError("invalid", `--limit: ${JSON.stringify(text)} is not a number of events`, { hint: "give 1 to 999999" });
}
