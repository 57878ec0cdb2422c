import { PlatformError } from "../../../core/errors/platform-error.ts";
import { inventoryName } from "../../../core/kinds/service-kinds.ts";
import { upgraders } from "../../../core/resources/host-status.ts";
import type { Instance } from "../../../core/resources/instance.ts";
import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { parseVersion } from "../../../core/versions/parse-version.ts";

/** A filter for the inventory; an empty text or list matches all. */
export interface InventoryFilter {
  readonly upgrader: string;
  readonly services: readonly string[];
  readonly olderThan: string;
  readonly newerThan: string;
  readonly exactVersion: string;
}

/** Whether an instance matches. Throws `invalid` for a malformed filter. */
export function instanceMatcher(filter: InventoryFilter): (instance: Instance) => boolean {
  const { upgrader, services } = filter;
  if (upgrader !== "" && !upgraders.some((one) => one === upgrader)) {
    throw new PlatformError("invalid", `unknown upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, {
      hint: `upgraders are ${upgraders.join(", ")}`,
    });
  }
  const older = bound(filter.olderThan);
  const newer = bound(filter.newerThan);
  const exact = bound(filter.exactVersion);
  const wanted = new Set(services.map((name) => inventoryName(name.toLowerCase())));
  return (instance) => {
    if (upgrader !== "" && instance.upgrader !== upgrader) return false;
    if (wanted.size > 0 && !instance.services.some((name) => wanted.has(inventoryName(name)))) return false;
    const version = parseVersion(instance.version)?.text;
    // A malformed version is neither older nor newer.
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
  throw new PlatformError("invalid", `${JSON.stringify(text.slice(0, 64))} is not a version`, { hint: "write it like 1.2.3" });
}
