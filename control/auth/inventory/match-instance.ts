import { PlatformError } from "../../../core/errors/platform-error.ts";
import { upgraders } from "../../../core/resources/host-status.ts";
import type { Instance } from "../../../core/resources/instance.ts";
import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { parseVersion } from "../../../core/versions/parse-version.ts";

/** Which lines of the inventory are asked for; an empty text or list asks for all. */
export interface InventoryFilter {
  readonly upgrader: string;
  readonly services: readonly string[];
  readonly olderThan: string;
  readonly newerThan: string;
  readonly exactVersion: string;
}

/** Whether a line is asked for. Throws `invalid` for a filter that is none. */
export function instanceMatcher(filter: InventoryFilter): (instance: Instance) => boolean {
  const { upgrader, services } = filter;
  if (upgrader !== "" && !upgraders.some((one) => one === upgrader)) {
    throw new PlatformError("invalid", `there is no upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, {
      hint: `upgraders are ${upgraders.join(", ")}`,
    });
  }
  const older = bound(filter.olderThan);
  const newer = bound(filter.newerThan);
  const exact = bound(filter.exactVersion);
  const wanted = new Set(services.map((name) => name.toLowerCase()).map((name) => (name === "node" ? "ssh" : name)));
  return (instance) => {
    if (upgrader !== "" && instance.upgrader !== upgrader) return false;
    if (wanted.size > 0 && !instance.services.some((name) => wanted.has(name))) return false;
    const version = parseVersion(instance.version)?.text;
    // A version that is none is neither older nor newer.
    if (version === undefined) return older === undefined && newer === undefined && exact === undefined;
    if (older !== undefined && compareVersions(version, older) >= 0) return false;
    if (newer !== undefined && compareVersions(version, newer) <= 0) return false;
    return exact === undefined || version === exact;
  };
}

function bound(text: string): string | undefined {
  if (text === "") return undefined;
  const version = parseVersion(text);
  if (version !== undefined) return version.text;
  throw new PlatformError("invalid", `${JSON.stringify(text.slice(0, 64))} is no version`, { hint: "write it like 1.2.3" });
}
