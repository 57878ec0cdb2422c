import { compareVersions } from "../core/versions/compare-versions.ts";
import { parseVersion } from "../core/versions/parse-version.ts";

/** Whether the package manager must be allowed to downgrade; the order of a made-up version is unknown. */
export function needsDowngrade({ from, to }: { readonly from: string; readonly to: string }): boolean {
  return parseVersion(from) === undefined || compareVersions(to, from) < 0;
}
