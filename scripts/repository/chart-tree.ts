import { createHash } from "node:crypto";
import { copyFile, link, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { parse, stringify } from "yaml";
import { run } from "../build/run.ts";
import type { Signer } from "./signer.ts";

export interface ChartTree {
  readonly fresh: string;
  readonly before: string | undefined;
  /** Folder with `platform-kube-agent-<version>.tgz` to add, if any. */
  readonly packages: string | undefined;
  readonly prereleases: boolean;
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
  const { fresh, before, packages, prereleases } = tree;
  const target = join(fresh, folder);
  await mkdir(target);
  const known = before === undefined ? [] : await chartsIn(join(before, folder));
  for (const file of known) await link(join(before ?? "", folder, file), join(target, file));
  const left: string[] = [];
  for (const file of packages === undefined ? [] : await chartsIn(packages)) {
    const source = join(packages ?? "", file);
    if (known.includes(file)) await refuseAnother(source, join(target, file));
    else if (semver.prerelease(versionOf(file)) === null || prereleases) await copyFile(source, join(target, file));
    else left.push(file);
  }
  const charts: PublishedChart[] = [];
  for (const file of await chartsIn(target)) charts.push(await publishChart(tree, file));
  charts.sort((a, b) => semver.rcompare(a.version, b.version));
  await writeFile(join(target, "index.yaml"), await indexText(target, charts));
  return { charts, left };
}

async function publishChart({ fresh, signer }: ChartTree, file: string): Promise<PublishedChart> {
  const path = join(fresh, folder, file);
  const text = await run("tar", ["-xzOf", path, `${name}/Chart.yaml`]);
  const about = parse(text) as Readonly<Record<string, unknown>>;
  const version = versionOf(file);
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

async function chartsIn(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((thrown: NodeJS.ErrnoException) => {
    // Publications of versions without charts.
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  return names.filter((file) => semver.valid(versionOf(file)) !== null).sort();
}

function versionOf(file: string): string {
  return new RegExp(`^${name}-(.+)\\.tgz$`).exec(file)?.[1] ?? "";
}

async function refuseAnother(offered: string, published: string): Promise<void> {
  if ((await readFile(offered)).equals(await readFile(published))) return;
  throw new Error(`${offered} is published already with another content; give the new one another version`);
}
