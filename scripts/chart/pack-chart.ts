import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { run } from "../build/run.ts";

export interface ChartInput {
  /** The chart's folder, named like the chart. */
  readonly source: string;
  readonly out: string;
  /** Of the chart and of the program: they are released together. */
  readonly version: string;
  /** Time of the files, Unix seconds. */
  readonly epoch: number;
}

/** Packs a chart as `helm package` does; equal input makes equal bytes. The archive's path. */
export async function packChart({ source, out, version, epoch }: ChartInput): Promise<string> {
  const name = basename(source);
  const work = await mkdtemp(join(tmpdir(), "platform-chart-"));
  try {
    const folder = join(work, name);
    // Values for tests of the chart, which nobody installs.
    await cp(source, folder, { recursive: true, filter: (path) => path !== join(source, "ci") });
    const about = await readFile(join(folder, "Chart.yaml"), "utf8");
    await writeFile(join(folder, "Chart.yaml"), setVersions(about, version));
    const form = ["--format=ustar", "--sort=name", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
    const tar = join(work, "chart.tar");
    await run("tar", [...form, "-C", work, "-cf", tar, name]);
    const file = join(out, `${name}-${version}.tgz`);
    await writeFile(file, gzipSync(await readFile(tar), { level: 9 }));
    return file;
  } finally {
    await rm(work, { recursive: true });
  }
}

/** Pure. Throws if a line is missing. */
function setVersions(text: string, version: string): string {
  return ["version", "appVersion"].reduce((left, key) => {
    const line = new RegExp(`^${key}: .*$`, "m");
    if (!line.test(left)) throw new Error(`Chart.yaml has no line with ${key}`);
    return left.replace(line, `${key}: ${JSON.stringify(version)}`);
  }, text);
}
