import { compareVersions } from "../core/versions/compare-versions.ts";
import { parseVersion } from "../core/versions/parse-version.ts";

/** Whether the package manager has to be allowed to go back; of a version that somebody made up nobody knows its order. */
export function needsDowngrade({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return parseVersion(from) === undefined || compareVersions(to, from) < 0;
}
