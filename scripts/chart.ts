import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ownVersion } from "./build/own-version.ts";
import { releaseTime } from "./build/release-time.ts";
import { packChart } from "./chart/pack-chart.ts";

/* chart.ts [--version V] [--out DIR]: packs the chart of Kubernetes agents into DIR, dist/packages by default. Needs tar; neither helm nor network. */

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({ options: { version: { type: "string" }, out: { type: "string", default: join(root, "dist/packages") } } });
const out = resolve(values.out);
await mkdir(out, { recursive: true });
const version = values.version ?? (await ownVersion(root));
const file = await packChart({ source: join(root, "charts/platform-kube-agent"), out, version, epoch: await releaseTime(root) });
process.stdout.write(`${file}\n`);
