import { PlatformError } from "../errors/platform-error.ts";

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400 };

/** `"12h"`, `"1h30m"`, `"30h0m0s"`, `"7d"` as whole seconds. Throws `invalid` for anything else. */
export function parseDuration(text: string): number {
  const shape = /^(\d{1,9}[smhd])+$/;
  if (!shape.test(text)) {
    throw new PlatformError("invalid", `${JSON.stringify(text)} is not a duration`, { hint: 'write it like "30m", "12h" or "1h30m"' });
  }
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)([smhd])/g)) seconds += Number(amount) * (units[unit as string] ?? 0);
  return seconds;
}

/** Whole seconds as `"1h30m0s"`, the reference's form. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h > 0) return `${h}h${m}m${s}s`;
  return m > 0 ? `${m}m${s}s` : `${s}s`;
}
