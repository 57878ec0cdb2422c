import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { parse, stringify } from "yaml";
import { run } from "../build/run.ts";
import { type Addition, addVersions, versionOf } from "./add-versions.ts";
import type { Signer } from "./signer.ts";

export interface ChartTree extends Addition {
  readonly signer: Signer;
}

/** A chart of a publication. */
export interface PublishedChart {
  readonly file: string;
  readonly version: string;
  /** Chart.yaml. */
  readonly about: Readonly<Record<string, unknown>>;
}

const name = "platform-kube-agent";
const folder = "charts";

/** Takes over the charts of the publication before, adds new ones, signs them, and writes the index that helm reads. */
export async function writeChartTree(tree: ChartTree): Promise<{ readonly charts: readonly PublishedChart[]; readonly left: readonly string[] }> {
  const target = join(tree.fresh, folder);
  const { files, left } = await addVersions(tree, { folder, name });
  const charts: PublishedChart[] = [];
  for (const file of files) charts.push(await publishChart(tree, file));
  charts.sort((a, b) => semver.rcompare(a.version, b.version));
  await writeFile(join(target, "index.yaml"), await indexText(target, charts));
  return { charts, left };
}

async function publishChart({ fresh, signer }: ChartTree, file: string): Promise<PublishedChart> {
  const path = join(fresh, folder, file);
  const text = await run("tar", ["-xzOf", path, `${name}/Chart.yaml`]);
  const about = parse(text) as Readonly<Record<string, unknown>>;
  const version = versionOf(file, name);
  if (about.name !== name || about.version !== version) throw new Error(`${file} holds another chart than its name says`);
  // What helm verifies: the description, and the hash of the archive (helm.sh/docs/topics/provenance).
  const hash = createHash("sha256").update(await readFile(path));
  const plain = `${path}.prov.plain`;
  await writeFile(plain, `${text.trimEnd()}\n\n...\nfiles:\n  ${file}: sha256:${hash.digest("hex")}\n`);
  await signer.clearsign(plain, `${path}.prov`);
  await rm(plain);
  return { file: path, version, about };
}

/** No time in it: the same charts make the same index. */
async function indexText(target: string, charts: readonly PublishedChart[]): Promise<string> {
  const entries = charts.map(async ({ file, about }) => {
    const digest = createHash("sha256").update(await readFile(file));
    return { ...about, digest: digest.digest("hex"), created: "1970-01-01T00:00:00Z", urls: [file.slice(target.length + 1)] };
  });
  return stringify({ apiVersion: "v1", entries: { [name]: await Promise.all(entries) }, generated: "1970-01-01T00:00:00Z" });
}
