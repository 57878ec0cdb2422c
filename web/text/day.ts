/** When a day of the reader's zone begins, `2026-11-23`, or one so many days later, as RFC 3339 in UTC; empty for what is not a day. Pure. */
export function dayBegin(day: string | null, later = 0): string {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? "") ?? [];
  if (year === undefined || month === undefined || date === undefined) return "";
  const begin = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return Number.isNaN(begin.getTime()) ? "" : begin.toISOString();
}
