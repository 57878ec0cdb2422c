import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { cp, link, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { run } from "../build/run.ts";
import type { TreeInput } from "./apt-tree.ts";
import type { Channel } from "./channel.ts";
import { offeredBy } from "./members.ts";

/** Earlier metadata that stays beside the new: a reader with the repomd.xml of then finds what it names. */
const keptGenerations = 3;

/** Writes the yum repositories of the channels, one for each architecture, from the rpms in `rpms`. */
export async function writeYumTree(input: TreeInput, channels: readonly Channel[], rpms: string): Promise<void> {
  await mkdir(join(input.fresh, "yum"), { recursive: true });
  for (const channel of channels) {
    const byArch = Map.groupBy(
      offeredBy(input.members, channel).filter((file) => file.endsWith(".rpm")),
      (file) => /\.([a-z0-9_]+)\.rpm$/.exec(file)?.[1] ?? "",
    );
    for (const [arch, files] of byArch) await writeRepository(input, { path: join("yum", channel, arch), files, rpms });
  }
}

interface YumRepository {
  readonly path: string;
  readonly files: readonly string[];
  readonly rpms: string;
}

async function writeRepository({ fresh, before, signer, now }: TreeInput, { path, files, rpms }: YumRepository): Promise<void> {
  const folder = join(fresh, path);
  for (const file of files) await linkByContent(join(rpms, file), join(folder, "Packages"));
  const known = before === undefined ? [] : await readdir(join(before, path, "repodata")).catch(() => []);
  if (before !== undefined && known.length > 0) {
    await cp(join(before, path, "repodata"), join(folder, "repodata"), { recursive: true, preserveTimestamps: true });
  }
  const revision = String(Math.floor(now.getTime() / 1000));
  const form = ["--no-database", "--general-compress-type", "gz", "--checksum", "sha256", "--revision", revision];
  await run("createrepo_c", ["--quiet", "--workers", "1", "--retain-old-md", String(keptGenerations), ...form, folder]);
  const repomd = join(folder, "repodata/repomd.xml");
  await signer.detachedSign(repomd, `${repomd}.asc`);
  // zypper looks for the keys beside the signature.
  await writeFile(`${repomd}.key`, await signer.publicKeys());
}

/** A re-signed rpm gets a new address: caches on the way to a host keep packages forever. */
async function linkByContent(rpm: string, folder: string): Promise<void> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(rpm)) hash.update(chunk as Buffer);
  const own = join(folder, hash.digest("hex").slice(0, 16));
  await mkdir(own, { recursive: true });
  await link(rpm, join(own, basename(rpm)));
}
