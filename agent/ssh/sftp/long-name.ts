import type { Stats } from "node:fs";
import type { AccountNames } from "./account-names.ts";

const kinds = new Map([
  [0o140_000, "s"],
  [0o120_000, "l"],
  [0o100_000, "-"],
  [0o060_000, "b"],
  [0o040_000, "d"],
  [0o020_000, "c"],
  [0o010_000, "p"],
]);
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
const halfYearMs = (365 / 2) * 24 * 3_600_000;

/** One line of `ls -l`, as OpenSSH's sftp-server writes it. The name may be any bytes. */
export function longName(name: Buffer, stats: Stats, { names, now }: { names: AccountNames; now: number }): Buffer {
  const user = names.user(stats.uid) ?? String(stats.uid);
  const group = names.group(stats.gid) ?? String(stats.gid);
  const columns = [
    `${modeText(stats.mode)} `,
    String(stats.nlink).padStart(3),
    user.padEnd(8),
    group.padEnd(8),
    String(stats.size).padStart(8),
    timeText(stats.mtimeMs, now),
  ];
  return Buffer.concat([Buffer.from(`${columns.join(" ")} `), name]);
}

export function modeText(mode: number): string {
  const kind = kinds.get(mode & 0o170_000) ?? "?";
  const three = (bits: number, special: boolean, letter: string): string => {
    const execute = (bits & 1) !== 0;
    const last = special ? (execute ? letter : letter.toUpperCase()) : execute ? "x" : "-";
    return `${(bits & 4) !== 0 ? "r" : "-"}${(bits & 2) !== 0 ? "w" : "-"}${last}`;
  };
  const user = three(mode >> 6, (mode & 0o4000) !== 0, "s");
  const group = three(mode >> 3, (mode & 0o2000) !== 0, "s");
  return `${kind}${user}${group}${three(mode, (mode & 0o1000) !== 0, "t")}`;
}

/** Shows the hour for dates within half a year, else the year. */
function timeText(ms: number, now: number): string {
  const time = new Date(ms);
  if (Number.isNaN(time.getTime())) return "";
  const day = `${months[time.getMonth()] ?? ""} ${String(time.getDate()).padStart(2)}`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const isRecent = now - ms < halfYearMs && ms <= now;
  return isRecent ? `${day} ${two(time.getHours())}:${two(time.getMinutes())}` : `${day}  ${time.getFullYear()}`;
}
