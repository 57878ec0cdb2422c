const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** How long ago or how soon, as people say it: `now`, `5 min ago`, `in 3 h`, `2 days ago`. Pure. */
export function relativeTime(time: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - time.getTime()) / 1000);
  const size = Math.abs(seconds);
  if (size < 45) return "now";
  const amount = size < hour ? `${Math.max(1, Math.round(size / minute))} min` : size < 36 * hour ? `${Math.round(size / hour)} h` : days(size);
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

function days(seconds: number): string {
  const count = Math.round(seconds / day);
  return count === 1 ? "1 day" : `${count} days`;
}

/** A moment in the reader's zone: `2026-11-23 14:05:09`. Without `zone`: that of the browser. Pure. */
export function localTime(time: Date, zone?: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone: zone,
  }).formatToParts(time);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")} ${part("hour")}:${part("minute")}:${part("second")}`;
}

/** The same as short as it can be: the time alone for today, the minute for earlier days. Pure. */
export function shortTime(time: Date, now: Date, zone?: string): string {
  const [text, today] = [localTime(time, zone), localTime(now, zone).slice(0, 10)];
  return text.startsWith(today) ? text.slice(11) : text.slice(0, 16);
}

/** The same moment in UTC: `2026-11-23 13:05:09 UTC`. Pure. */
export function utcTime(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A window of time in a zone, as short as it can be: `Tue 2026-11-24 03:00–04:00`. Pure. */
export function spanText({ start, stop }: { readonly start: Date; readonly stop: Date }, zone?: string): string {
  const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: zone }).format(start);
  const [from, to] = [localTime(start, zone), localTime(stop, zone)].map((text) => text.slice(0, 16));
  const end = from?.slice(0, 10) === to?.slice(0, 10) ? to?.slice(11) : to;
  return `${weekday} ${from}–${end}`;
}

/** A length of time: `1:02:03`, `2:03`. Pure. */
export function lengthText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A time of RFC 3339, or undefined when it is none. Pure. */
export function readTime(text: string | undefined): Date | undefined {
  const time = text === undefined ? undefined : new Date(text);
  return time === undefined || Number.isNaN(time.getTime()) ? undefined : time;
}

/** When a day of the reader's zone begins, `2026-11-23`, or one so many days later, as RFC 3339 in UTC; empty for what is not a day. Pure. */
export function dayBegin(day: string | null, later = 0): string {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? "") ?? [];
  if (year === undefined || month === undefined || date === undefined) return "";
  const begin = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return Number.isNaN(begin.getTime()) ? "" : begin.toISOString();
}
