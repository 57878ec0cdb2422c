import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildPrograms } from "./build/build-programs.ts";
import type { BuildArch } from "./build/build-target.ts";
import { ownVersion } from "./build/own-version.ts";
import { releaseTime } from "./build/release-time.ts";
import { makePackages } from "./package/make-packages.ts";
import { tryForeign } from "./package/try-foreign.ts";

/*
 * package.ts [--version V] [--out DIR] [--arch x64,arm64] [--formats deb,rpm] [--fast] [--executable FILE] [--updater FILE]:
 * builds the executables (those that are not given) and packs them into DIR, dist/packages by default. --fast compresses little.
 * Needs dpkg-deb, rpmbuild; for another architecture its cross tools. The time in the packages is SOURCE_DATE_EPOCH, or that of
 * the last commit.
 */

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    version: { type: "string" },
    out: { type: "string", default: join(root, "dist/packages") },
    arch: { type: "string", default: "x64,arm64" },
    formats: { type: "string", default: "deb,rpm" },
    fast: { type: "boolean", default: false },
    executable: { type: "string" },
    updater: { type: "string" },
  },
});
const version = values.version ?? (await ownVersion(root));
const epoch = await releaseTime(root);
for (const arch of list(values.arch, ["x64", "arm64"])) await pack(arch);

async function pack(arch: BuildArch): Promise<void> {
  const dist = join(root, ".cache/packages", arch);
  try {
    const built = await buildPrograms({ root, dist, version, arch });
    const files = built.map(({ file }) => file);
    if (arch !== process.arch) process.stdout.write(`${arch}: ${await tryForeign(arch, files, version)}\n`);
  } catch (failure) {
    if (arch === process.arch) throw failure;
    const [first = ""] = String(failure instanceof Error ? failure.message : failure).split("\n");
    process.stdout.write(`${arch}: left out, for it cannot be made here: ${first.slice(0, 120)}\n`);
    return;
  }
  const programs = {
    executable: resolve(values.executable ?? join(dist, "platform")),
    updater: resolve(values.updater ?? join(dist, "platform-upgrade")),
    pty: join(dist, "pty.node"),
  };
  const formats = list(values.formats, ["deb", "rpm"]);
  const made = await makePackages({ root, out: resolve(values.out), version, arch, formats, fast: values.fast, epoch, ...programs });
  for (const { file, size } of made) process.stdout.write(`${file}: ${(size / 1e6).toFixed(1)} MB\n`);
}

function list<T extends string>(text: string, known: readonly T[]): T[] {
  return text.split(",").map((word) => {
    const found = known.find((one) => one === word);
    if (found === undefined) throw new Error(`${word} is none of ${known.join(", ")}`);
    return found;
  });
}
