import { copyFile, link, mkdir, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "../build/run.ts";
import { poolPath } from "./apt-tree.ts";
import { type Channel, channelsOf } from "./channel.ts";
import { joinChannels, type Members } from "./members.ts";
import type { Signer } from "./signer.ts";

export interface AddInput {
  readonly fresh: string;
  readonly before: string | undefined;
  readonly members: Members;
  readonly signer: Signer;
  /** Folder with packages to add, if any; they are copied and not changed. */
  readonly packages: string | undefined;
  /** When given, packages come into these channels and no others of theirs. */
  readonly channels: readonly Channel[] | undefined;
  readonly prereleases: boolean;
}

/** What was added to a publication, and what was not and why. */
export interface Added {
  readonly members: Members;
  readonly left: readonly string[];
}

/** Where a publication keeps a package. */
export function keptAt(publication: string, file: string): string {
  return file.endsWith(".rpm") ? join(publication, "rpms", file) : join(publication, "apt", poolPath(file));
}

/** Takes over the packages of the publication before, adds new ones, and signs rpms that no key of now has signed. */
export async function addPackages(input: AddInput): Promise<Added> {
  const { fresh, before, signer } = input;
  await mkdir(join(fresh, "rpms"), { recursive: true });
  let members = input.members;
  const left: string[] = [];
  if (before !== undefined) for (const file of members.keys()) await linkTo(keptAt(before, file), keptAt(fresh, file));
  for (const source of await offeredPackages(input.packages)) {
    const file = basename(source);
    const channels = wantedChannels(await packagedVersion(source), input);
    if (channels.length === 0) {
      left.push(file);
      continue;
    }
    const kept = keptAt(fresh, file);
    if (members.has(file)) await refuseAnother(source, kept);
    else {
      await mkdir(dirname(kept), { recursive: true });
      await copyFile(source, kept);
    }
    members = joinChannels(members, file, channels);
  }
  for (const file of members.keys()) if (file.endsWith(".rpm")) await signWhenNeeded(keptAt(fresh, file), signer);
  return { members, left };
}

async function offeredPackages(folder: string | undefined): Promise<string[]> {
  if (folder === undefined) return [];
  const names = (await readdir(folder)).filter((name) => /\.(deb|rpm)$/.test(name)).sort();
  return names.map((name) => join(folder, name));
}

function wantedChannels(version: string, { channels, prereleases }: AddInput): readonly Channel[] {
  const own = channelsOf(version, { prereleases });
  return channels === undefined ? own : own.filter((channel) => channels.includes(channel));
}

async function packagedVersion(file: string): Promise<string> {
  if (file.endsWith(".deb")) return (await run("dpkg-deb", ["--field", file, "Version"])).trim();
  return await run("rpm", ["-qp", "--nosignature", "--qf", "%{VERSION}", file]);
}

/** A version that hosts may have fetched never changes: its hash is in their caches. */
async function refuseAnother(offered: string, published: string): Promise<void> {
  const header = (file: string) => run("rpm", ["-qp", "--nosignature", "--qf", "%{SHA256HEADER}", file]);
  const same = offered.endsWith(".rpm")
    ? (await header(offered)) === (await header(published))
    : (await readFile(offered)).equals(await readFile(published));
  if (!same) throw new Error(`${basename(offered)} is published already with another content; give the new one another version`);
}

async function signWhenNeeded(file: string, signer: Signer): Promise<void> {
  if (await signer.hasSigned(file)) return;
  // rpmsign writes a new file: the link of the publication before keeps the old one.
  await signer.signRpm(file);
}

async function linkTo(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await link(from, to).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`could not keep ${basename(from)}, which is published: ${cause.message}`, { cause });
  });
}
