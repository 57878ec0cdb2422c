import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of scripts/install.sh from the repository; the build embeds it in the executable. */
export function installScript(): string {
  return readFileSync(join(import.meta.dirname, "../../../scripts/install.sh"), "utf8");
}
