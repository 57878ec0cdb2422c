import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Said } from "./examination.ts";

/** One-time codes count for half a minute to either side, and new certificates are valid from a minute before. Seconds. */
const [tolerated, unusable] = [20, 60];
const set = "set it with `timedatectl set-ntp true`, or ask the administrator of this machine";

/**
 * Compares this machine's clock with the `Date` of an answer requested at `asked` and received at `answered` (ms): the header has whole
 * seconds, and the answer took some time. Throws `invalid` when logins and certificates cannot work. Pure.
 */
export function judgeClock(date: string | undefined, { asked, answered }: { asked: number; answered: number }): Said {
  const there = Date.parse(date ?? "");
  if (Number.isNaN(there)) return { says: "the proxy does not report its time" };
  // The header's second began at `there`.
  const behind = there - answered;
  const ahead = asked - (there + 1000);
  const seconds = Math.round(Math.max(0, behind, ahead) / 1000);
  if (seconds === 0) return { says: "this machine's clock agrees with the proxy's" };
  const says = `this machine's clock is ${lasting(seconds)} ${behind > 0 ? "behind" : "ahead of"} the proxy's`;
  if (seconds >= unusable) throw new PlatformError("invalid", `${says}: logins and certificates are refused`, { hint: set });
  return { says, ...(seconds >= tolerated && { warning: set }) };
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
