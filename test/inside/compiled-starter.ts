import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { compileOnce } from "../world/compile-once.ts";

const folder = resolve(import.meta.dirname, "../../agent/host/session");

/** Path of `session-start`, compiled from source. */
export function compiledStarter(): string {
  return compileOnce(
    folder,
    readdirSync(folder).filter((name) => name.endsWith(".c")),
    ["-ldl"],
  );
}
