import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ownVersion } from "./build/own-version.ts";
import { packClient } from "./client/pack-client.ts";

/*
 * client.ts [--version V] [--out DIR]: packs tsh and tctl for systems with Node.js into DIR, dist/packages by default. Needs npm; no network.
 */

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({ options: { version: { type: "string" }, out: { type: "string", default: resolve(root, "dist/packages") } } });
const file = await packClient({ root, out: resolve(values.out), version: values.version ?? (await ownVersion(root)) });
process.stdout.write(`${file}\n`);
