/** An audit event as it was recorded. */
export type AuditRecord = Readonly<Record<string, unknown>>;

/** Fields that have a column of their own, or are the same on every line. */
const leftOut = new Set(["time", "event", "code", "user", "uid", "cluster_name", "success"]);
/** The most important fields come first. */
const first = ["error", "name", "login", "server_name", "app_name", "db_name", "command", "exit_code", "addr.remote"];
/** Maximum length of a value in a list, characters. */
const maxValue = 60;

/** The facts of an event in one line: `name=web-1 login=root`. `most`: characters of a value. Pure. */
export function eventDetails(event: AuditRecord, most = maxValue): string {
  return Object.entries(event)
    .filter(([name, value]) => !leftOut.has(name) && value !== undefined && value !== "" && !(name === "server_id" && "server_name" in event))
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([name, value]) => `${name}=${valueText(value, most)}`)
    .join(" ");
}

/** A text of the event; empty when it has none of that name. Pure. */
export function eventField(event: AuditRecord, name: string): string {
  const value = event[name];
  return typeof value === "string" ? value : "";
}

/** An actor as it fits a column: hosts act as `auth:<id>`, of which eight digits are enough. Pure. */
export function shortActor(user: string): string {
  return user.replace(/^(auth|proxy|node):([0-9a-f]{8})-[0-9a-f-]{27}$/, "$1:$2");
}

function rank(name: string): number {
  const index = first.indexOf(name);
  return index < 0 ? first.length : index;
}

function valueText(value: unknown, most: number): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Events as lines of comma-separated values (RFC 4180), with a line of names; a value that a spreadsheet would take for a formula gets a quote in front. Pure. */
export function eventsCsv(events: readonly AuditRecord[]): string {
  const lines = events.map((event) => [
    eventField(event, "time"),
    eventField(event, "event"),
    eventField(event, "code"),
    eventField(event, "user"),
    eventDetails(event, Number.POSITIVE_INFINITY),
  ]);
  return [["time", "event", "code", "user", "details"], ...lines].map((cells) => cells.map(csvCell).join(",")).join("\r\n");
}

function csvCell(text: string): string {
  // Some spreadsheets separate cells by semicolons or tabs: a formula may begin behind one of these, too.
  const safe = text.replace(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
