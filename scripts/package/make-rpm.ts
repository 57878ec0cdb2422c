import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oldestGlibc } from "../build/build-target.ts";
import { run } from "../build/run.ts";
import type { PackInput } from "./pack-input.ts";
import { rpmArch, specText } from "./spec-text.ts";
import { setTimes, stage } from "./stage.ts";

/** xz is read by every rpm; the digit is the level. */
const slow = "w6.xzdio";
const quick = "w1.zstdio";

/** Makes one rpm, unsigned, byte-identical for equal input. Its path. */
export async function makeRpm({ packaging, definition, release, work, out }: PackInput): Promise<string> {
  const root = join(work, "root");
  await stage(definition, root, {
    [`/usr/share/licenses/${definition.name}/LICENSE`]: await readFile(join(packaging, "../LICENSE"), "utf8"),
  });
  await setTimes(root, release.epoch);
  const folder = join(packaging, "rpm", definition.name);
  const scriptlets: Record<string, string> = {};
  for (const name of (await readdir(folder)).sort()) scriptlets[name] = await readFile(join(folder, name), "utf8");
  const spec = join(work, `${definition.name}.spec`);
  await writeFile(spec, specText({ definition, release, scriptlets, oldestGlibc: oldestGlibc[release.arch] }));
  const arch = rpmArch[release.arch];
  const args = ["--quiet", "--target", arch, "--define", `staged ${root}`, ...macros(work, release.fast ? quick : slow), "-bb", spec];
  // rpm wants a home for its own database; nothing is read from the user's.
  await run("rpmbuild", args, { env: { SOURCE_DATE_EPOCH: String(release.epoch), HOME: work } });
  const name = `${definition.name}-${release.version}-1.${arch}.rpm`;
  await mkdir(out, { recursive: true });
  await copyFile(join(work, "rpms", arch, name), join(out, name));
  return join(out, name);
}

function macros(work: string, payload: string): string[] {
  const values = {
    _topdir: join(work, "rpmbuild"),
    _rpmdir: join(work, "rpms"),
    _dbpath: join(work, "rpmdb"),
    _binary_payload: payload,
    _build_id_links: "none",
    debug_package: "%{nil}",
    // Stripping would destroy the executables.
    __os_install_post: "%{nil}",
    _buildhost: "reproducible",
    use_source_date_epoch_as_buildtime: "1",
    clamp_mtime_to_source_date_epoch: "1",
    source_date_epoch_from_changelog: "0",
  };
  return Object.entries(values).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
}
