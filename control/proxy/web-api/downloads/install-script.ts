import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of scripts/install.sh from the repository. The build replaces this file with one that has the text in it (scripts/build/bundle.ts). */
export function installScript(): string {
  return readFileSync(join(import.meta.dirname, "../../../../scripts/install.sh"), "utf8");
}
