import { parseVersion } from "../../../core/versions/compare-versions.ts";

/**
 * Why a proxy does not serve the version: an agent must never be newer by a major than its proxy. Undefined: it may. No other version is served in
 * its place, because a host that has a newer version of the proxy's major would be taken back. Both with a leading v. Pure.
 */
export function beyondMajor(version: string, own: string): string | undefined {
  const [wanted, mine] = [parseVersion(version), parseVersion(own)];
  if (wanted === undefined || mine === undefined || wanted.major <= mine.major) return undefined;
  return `wants ${version}, which has a higher major than this proxy (${own}): upgrade the cluster first; until then hosts stay as they are`;
}
