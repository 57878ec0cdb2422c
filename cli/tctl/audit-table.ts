import { renderTable } from "../table.ts";

/** One audit event as it was recorded. */
export type AuditRecord = Readonly<Record<string, unknown>>;

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
