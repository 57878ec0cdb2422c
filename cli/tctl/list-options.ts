import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseDuration } from "../../core/resources/duration.ts";

/*
 * Options of commands that list what happened. Apart from audit.ts, which loads the schemas of all events.
 */

/** RFC 3339, a date, or a duration before now (`2h`, `-2h`), as RFC 3339; a missing option is empty. */
export function timeOption(text: string | undefined, flag: string, now: Date): string {
  if (text === undefined) return "";
  const ago = /^-?((?:\d{1,9}[smhd])+)$/.exec(text)?.[1];
  if (ago !== undefined) return new Date(now.getTime() - parseDuration(ago) * 1000).toISOString();
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? new Date(text) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new PlatformError("invalid", `${flag}: ${JSON.stringify(text)} is not a time`, {
    hint: 'write it like "2026-01-31", "2026-01-31T09:30:00Z" or "2h" (before now)',
  });
}

/** The maximum number of lines. Throws `invalid`. */
export function limitOption(text: string | undefined, { usual, of }: { readonly usual: number; readonly of: string }): number {
  if (text === undefined) return usual;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new PlatformError("invalid", `--limit: ${JSON.stringify(text)} is not a number of ${of}`, { hint: "give 1 to 999999" });
}
