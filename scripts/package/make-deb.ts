import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { oldestGlibc } from "../build/build-target.ts";
import { run } from "../build/run.ts";
import { controlText, debArch, debChangelog } from "./control-text.ts";
import type { PackInput } from "./pack-input.ts";
import { setTimes, stage } from "./stage.ts";

/** xz: Debian 11's dpkg and lintian know no zstd. One thread: with more, the bytes would depend on the machine. */
const slow = ["-Zxz", "-z6", "--threads-max=1"];
const quick = ["-Zzstd", "-z1", "--threads-max=1"];

/** Makes one deb, byte-identical for equal input. Its path. */
export async function makeDeb({ packaging, definition, release, work, out }: PackInput): Promise<string> {
  const root = join(work, "root");
  const doc = `/usr/share/doc/${definition.name}`;
  const overrides = await readFile(join(packaging, `deb/${definition.name}.lintian-overrides`), "utf8");
  await stage(definition, root, {
    [`${doc}/copyright`]: await readFile(join(packaging, "deb/copyright"), "utf8"),
    [`${doc}/changelog.gz`]: debChangelog(definition.name, release),
    [`/usr/share/lintian/overrides/${definition.name}`]: overrides,
  });
  const control = join(root, "DEBIAN");
  const payload = await filesBelow(root);
  await mkdir(control);
  let bytes = 0;
  let sums = "";
  for (const file of payload) {
    bytes += (await stat(file)).size;
    sums += `${md5(await readFile(file))}  ${relative(root, file)}\n`;
  }
  const input = { definition, release, installedSize: Math.ceil(bytes / 1024), oldestGlibc: oldestGlibc[release.arch] };
  await writeFile(join(control, "control"), controlText(input));
  await writeFile(join(control, "md5sums"), sums);
  const conffiles = definition.files.filter((file) => file.configuration === true).map((file) => `${file.to}\n`);
  if (conffiles.length > 0) await writeFile(join(control, "conffiles"), conffiles.join(""));
  const scripts = join(packaging, "deb", definition.name);
  for (const name of await readdir(control)) await chmod(join(control, name), 0o644);
  for (const name of await readdir(scripts)) {
    await copyFile(join(scripts, name), join(control, name));
    await chmod(join(control, name), 0o755);
  }
  await setTimes(root, release.epoch);
  const made = join(out, `${definition.name}_${release.version}_${debArch[release.arch]}.deb`);
  const args = ["--root-owner-group", ...(release.fast ? quick : slow), "--build", root, made];
  await run("dpkg-deb", args, { env: { SOURCE_DATE_EPOCH: String(release.epoch) } });
  return made;
}

/** Regular files, in the order of their paths. */
async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("hex");
}
