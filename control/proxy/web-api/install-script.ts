import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of scripts/install.sh as it is in the repository; in the executable the build puts it here. */
export function installScript(): string {
  return readFileSync(join(import.meta.dirname, "../../../scripts/install.sh"), "utf8");
}
