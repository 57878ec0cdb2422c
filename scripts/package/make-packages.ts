import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildArch } from "../build/build-target.ts";
import { makeDeb } from "./make-deb.ts";
import { makeRpm } from "./make-rpm.ts";
import type { PackInput } from "./pack-input.ts";
import { type PackagedPrograms, type PackageFormat, packageDefinitions } from "./package-definition.ts";
import { packageVersion } from "./package-version.ts";

export interface PackagesRequest extends PackagedPrograms {
  /** The repository's folder. */
  readonly root: string;
  readonly out: string;
  /** As npm writes it. */
  readonly version: string;
  readonly arch: BuildArch;
  readonly formats: readonly PackageFormat[];
  /** Little compression: seconds instead of minutes, twice the size. */
  readonly fast: boolean;
  /** Time of everything in the packages, Unix seconds. */
  readonly epoch: number;
}

export interface MadePackage {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
}

/**
 * Packs `platform-ent` and `platform-ent-updater`. The executables are packed as they are: tests pack others, which crash or
 * hang, in any version. Equal input makes equal bytes.
 */
export async function makePackages(request: PackagesRequest): Promise<MadePackage[]> {
  const { root, out, arch, epoch, fast } = request;
  const release = { version: packageVersion(request.version), arch, epoch, fast };
  const packaging = join(root, "packaging");
  await mkdir(out, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), "platform-packages-"));
  try {
    const tasks = request.formats.flatMap((format) =>
      packageDefinitions(packaging, request, format).map((definition) => async () => {
        const own = join(work, format, definition.name);
        await mkdir(own, { recursive: true });
        const input: PackInput = { packaging, definition, release, work: own, out };
        const file = await (format === "deb" ? makeDeb(input) : makeRpm(input));
        await rm(own, { recursive: true, force: true });
        return { file, size: (await stat(file)).size };
      }),
    );
    return await inPairs(tasks);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Two at a time: each keeps a core busy, and a copy of an executable on the disk. */
async function inPairs(tasks: readonly (() => Promise<MadePackage>)[]): Promise<MadePackage[]> {
  const done: MadePackage[] = [];
  const waiting = [...tasks];
  const worker = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) done.push(await task());
  };
  await Promise.all([worker(), worker()]);
  return done.sort((a, b) => a.file.localeCompare(b.file));
}
