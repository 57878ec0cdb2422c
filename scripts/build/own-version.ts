import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The version of package.json. */
export async function ownVersion(root: string): Promise<string> {
  const read: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  if (typeof read !== "object" || read === null || !("version" in read) || typeof read.version !== "string") {
    throw new Error("package.json has no version");
  }
  return read.version;
}
