import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { NotHere } from "./not-here.ts";
import { output } from "./program.ts";

const script = resolve(import.meta.dirname, "database-clients/mongo.py");
/** Debian packages its modules for this one. */
const python = "/usr/bin/python3";

/** Why pymongo is not here; undefined: it is. */
export const noPymongo: NotHere | undefined =
  existsSync(python) && existsSync("/usr/lib/python3/dist-packages/pymongo") ? undefined : new NotHere("pymongo needs python3-pymongo");

/** Runs mongo.py: what it printed. */
export async function pymongo(uri: string, ...args: readonly string[]): Promise<string> {
  return await output(python, [script, uri, ...args]);
}
