import compare from "semver/functions/compare.js";
import { parseVersion } from "./parse-version.ts";

/** Below, equal or above 0 as `a` is older than, equal to or newer than `b` by semver's precedence. Any other text is older than every version. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  return compare(left.text, right.text);
}
