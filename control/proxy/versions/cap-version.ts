import { parseVersion } from "../../../core/versions/parse-version.ts";

/** An agent must never be newer by a major than its proxy: then the proxy's own version is the answer. Both with a leading v. */
export function capVersion(version: string, own: string): string {
  const [wanted, mine] = [parseVersion(version), parseVersion(own)];
  return wanted !== undefined && mine !== undefined && wanted.major > mine.major ? own : version;
}
