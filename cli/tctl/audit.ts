import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { auditEventDocument } from "../../core/audit/audit-event.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type DocumentKind, readDocuments } from "../../core/resources/document.ts";
import { backOffDelay } from "../../core/transport/back-off.ts";
import type { Call } from "../command.ts";
import { type Format, type Result, writeNote, writeResult } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { limitOption, timeOption } from "./list-options.ts";

/** Maximum number of events in one answer of the auth service. */
const page = 1000;
/** Number of events printed before the followed ones. */
const beforeFollowing = 10;
/** Interval of requests for later events, ms. */
const followMs = 1000;
/** Maximum size of an event, bytes. */
const maxPrinted = 1_000_000;

/** An event as it is printed: a newer auth service may have events and facts that this version does not know. */
const printedEvent: DocumentKind<AuditRecord> = { ...auditEventDocument, schema: z.record(z.string(), z.unknown()), maxBytes: maxPrinted };

interface AuditAsk {
  readonly from: string;
  readonly to: string;
  readonly events: string[];
  readonly user: string;
  /** Number of newest events; 0: all. */
  readonly newest: number;
  /** The same where nobody stated it. */
  readonly usual: number | undefined;
  readonly follow: boolean;
  readonly format: Format;
}

interface Progress {
  /** Where to continue; empty: no request was made yet. */
  cursor: string;
  pages: number;
  /** Number of printed events. */
  printed: number;
  /** The reader of our output is gone. */
  readerGone: boolean;
}

const laterOnly = (count: number): string => `The newest ${count} events were printed: --from or --limit shows earlier ones, too.`;

/** `tctl audit ls`: the newest events, oldest first, page by page; with `--follow` also later ones, across lost connections. */
export async function listAudit(call: Call): Promise<Result> {
  const ask = auditAsk(call);
  const progress: Progress = { cursor: "", pages: 0, printed: 0, readerGone: false };
  for (let failures = 0; ; ) {
    const before = progress.cursor;
    try {
      await withAdmin(call, async ({ client }) => await printPages(client, { ask, call, progress }));
      return { data: [], text: "", many: true, notes: !ask.follow && progress.printed === ask.usual ? [laterOnly(ask.usual)] : [] };
    } catch (thrown) {
      if (!ask.follow || !mayPass(thrown)) throw thrown;
      if (progress.cursor !== before) failures = 0;
      if (failures === 0) writeNote(call.io, `${thrown.message}: trying again until it answers`);
      failures += 1;
      await sleep(backOffDelay(failures, Math.random()));
    }
  }
}

function auditAsk({ options }: Call): AuditAsk {
  const now = new Date();
  const follow = options.flag("follow");
  const from = timeOption(options.text("from"), "--from", now);
  const to = timeOption(options.text("to"), "--to", now);
  if (follow && to !== "") throw new PlatformError("invalid", "--follow cannot be combined with --to");
  const usual = from !== "" ? 0 : follow ? beforeFollowing : page;
  const limit = options.text("limit");
  const newest = limitOption(limit, { usual, of: "events" });
  const format = (options.text("format") ?? "text") as Format;
  return {
    from,
    to,
    events: [...options.list("event")],
    user: options.text("user") ?? "",
    newest,
    usual: limit === undefined && usual > 0 ? usual : undefined,
    follow,
    format,
  };
}

function mayPass(thrown: unknown): thrown is PlatformError {
  return thrown instanceof PlatformError && (thrown.code === "unavailable" || thrown.code === "timeout");
}

interface Printing {
  readonly ask: AuditAsk;
  readonly call: Call;
  readonly progress: Progress;
}

/** Returns at the end of the log, or never when it is followed. Printed events are not requested again. */
async function printPages(client: AuthClient, { ask, call, progress }: Printing): Promise<Result> {
  const { from, to, events, user, newest, follow } = ask;
  for (;;) {
    const answer = await client.listEvents({ from, to, events, user, limit: page, cursor: progress.cursor, newest });
    if (answer.eventsJson.length > 0 || (progress.pages === 0 && !follow)) await print(answer.eventsJson, { ask, call, progress });
    const isEnd = answer.cursor === "";
    if (progress.readerGone || (isEnd && !follow)) return { data: [], text: "" };
    progress.cursor = isEnd ? answer.resume : answer.cursor;
    if (progress.cursor === "") throw new PlatformError("unsupported", "the auth service is too old to be followed");
    if (isEnd) await sleep(followMs);
  }
}

async function print(lines: readonly string[], { ask, call, progress }: Printing): Promise<void> {
  const records = readDocuments(printedEvent, lines);
  const isContinued = progress.pages > 0;
  const result = { data: records, text: auditTable(records, isContinued), many: true, isContinued };
  if (!(await writeResult(call.io, result, ask.format))) progress.readerGone = true;
  progress.pages += 1;
  progress.printed += records.length;
}

/** One audit event as it was recorded. */
type AuditRecord = Readonly<Record<string, unknown>>;

/** Fields that have a column, are the same on every line, or repeat another one. JSON has them all. */
const leftOut = new Set(["time", "event", "code", "user", "uid", "cluster_name", "success", "session_start"]);
/** The most important fields come first. */
const first = ["error", "name", "login", "server_name", "command", "exit_code", "addr.remote"];
/** Maximum length of a value, characters. */
const maxValue = 60;

/** `Time Event User Details`; `isContinued`: without the header, in columns of the usual width. */
export function auditTable(events: readonly AuditRecord[], isContinued = false): string {
  const rows = events.map((event) => {
    const details = Object.entries(event)
      .filter(([name, value]) => !leftOut.has(name) && value !== undefined && value !== "" && !(name === "server_id" && "server_name" in event))
      .sort(([a], [b]) => rank(a) - rank(b))
      .map(([name, value]) => `${name}=${detail(value)}`);
    const outcome = event.success === false ? ["REFUSED"] : [];
    return [textOf(event.time).replace(/\.\d+Z$/, "Z"), textOf(event.event), shortActor(textOf(event.user)), [...outcome, ...details].join(" ")];
  });
  if (!isContinued) return renderTable(["Time", "Event", "User", "Details"], rows);
  const wide = ["Time".padEnd(20), "Event".padEnd(17), "User".padEnd(13), "Details"];
  return renderTable(wide, rows).split("\n").slice(2).join("\n");
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
