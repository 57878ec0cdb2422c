import { join, resolve } from "node:path";
import { packClient } from "../../scripts/client/pack-client.ts";
import { output } from "./program.ts";

export interface UnpackedClient {
  /** Path of the package. */
  readonly file: string;
  /** Names of its files. */
  readonly files: readonly string[];
  /** Path of a program of it, for Node.js to run. */
  client(name: "tsh" | "tctl"): string;
}

/** Packs `tsh` and `tctl` for systems with Node.js, and unpacks them into this folder. */
export async function unpackClient(folder: string): Promise<UnpackedClient> {
  const file = await packClient({ root: resolve(import.meta.dirname, "../.."), out: join(folder, "client"), version: "1.0.0" });
  const files = (await output("tar", ["-tzf", file])).trim().split("\n");
  await output("tar", ["-xzf", file, "-C", folder]);
  return { file, files, client: (name) => join(folder, "package/bin", name) };
}
