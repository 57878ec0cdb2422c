import { mkdir, open, readdir, readlink, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { addClients } from "./add-clients.ts";
import { type AddInput, addPackages } from "./add-packages.ts";
import { writeAptTree } from "./apt-tree.ts";
import type { Channel } from "./channel.ts";
import { writeChartTree } from "./chart-tree.ts";
import { type Members, readMembers, writeMembers } from "./members.ts";
import { writeOciTree } from "./oci-tree.ts";
import { openSigner, type Signer, type SigningKeys } from "./signer.ts";
import { writeYumTree } from "./yum-tree.ts";

export interface PublishRequest {
  /** Folder with debs and rpms to add; without it, only the indexes are created and signed again. */
  readonly packages?: string;
  readonly out: string;
  readonly keys: SigningKeys;
  /** When given, the packages come into these channels and no others of theirs. */
  readonly channels?: readonly Channel[];
  readonly prereleases?: boolean;
  readonly now: Date;
}

export interface Published {
  /** How many packages each channel offers. */
  readonly channels: Readonly<Partial<Record<Channel, number>>>;
  /** Packages that were not added, for no channel takes them. */
  readonly left: readonly string[];
}

/** What readers see: links to the publication of now. Keys come first, so that nothing is signed by what cannot be known yet. */
export const served = ["keys", "apt", "yum", "client", "charts", "oci"];
/** No dot in front: proxies serve nothing that is hidden. */
export const publications = "published";
const publicationName = /^\d+-\d+$/;

/**
 * Publishes packages into a repository for apt, yum and zypper, or makes one. Each publication is a tree of its own, hard-linked
 * with the one before; readers see the old one until the links are switched. Every version that was published stays.
 */
export async function publishRepository(request: PublishRequest): Promise<Published> {
  const { out, now } = request;
  await mkdir(join(out, publications), { recursive: true });
  await using _lock = await lockRepository(out);
  await using signer = await openSigner(request.keys);
  const links = await servedLinks(out);
  // A first run that was cut has made some of them.
  const current = links.get("apt") ?? [...links.values()][0];
  const before = current === undefined ? undefined : join(out, dirname(current));
  const name = `${now.getTime()}-${process.pid}`;
  const fresh = join(out, publications, name);
  await mkdir(fresh);
  let published: Published;
  try {
    published = await fill({ fresh, before, signer }, request);
    await switchAll({ out, name, links });
  } catch (failure) {
    if (!(failure instanceof HalfSwitched)) await rm(fresh, { recursive: true, force: true });
    throw failure;
  }
  // From here on readers see it, whatever fails.
  await removeOld(out, before === undefined ? [name] : [name, basename(before)]);
  return published;
}

/**
 * What readers see now: the target of each link, by its name. Throws for anything but a link to a publication of this repository: it was made by somebody
 * else, and would be overwritten, or taken for a repository without earlier versions.
 */
async function servedLinks(out: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const part of served) {
    const path = join(out, part);
    const target = await readlink(path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return undefined;
      if (thrown.code === "EINVAL")
        throw new Error(`${path} is not a link of this repository: move it away, or give another folder`, { cause: thrown });
      throw thrown;
    });
    if (target === undefined) continue;
    const [folder = "", name = "", own = "", ...more] = target.split("/");
    if (folder !== publications || !publicationName.test(name) || own !== part || more.length > 0)
      throw new Error(`${path} leads to ${target}, which is not a publication of this repository: remove that link, or give another folder`);
    found.set(part, target);
  }
  return found;
}

interface Switch {
  readonly out: string;
  readonly name: string;
  /** The links as they were. */
  readonly links: ReadonlyMap<string, string>;
}

/** Switches the links to the publication of this name. If one fails, all are as they were. */
async function switchAll({ out, name, links }: Switch): Promise<void> {
  const done: string[] = [];
  try {
    for (const part of served) {
      await switchTo(join(out, part), join(publications, name, part));
      done.push(part);
    }
  } catch (failure) {
    const left: unknown[] = [];
    for (const part of done) {
      const target = links.get(part);
      await (target === undefined ? rm(join(out, part), { force: true }) : switchTo(join(out, part), target)).catch((thrown) => left.push(thrown));
    }
    if (left.length > 0) throw new HalfSwitched([failure, ...left]);
    throw failure;
  }
}

/** Some links lead to the new publication, which has to stay for readers. The next run switches all of them. */
class HalfSwitched extends AggregateError {
  constructor(errors: readonly unknown[]) {
    super(errors, `only a part of the repository was switched to the new packages: run it again (${String(errors[0])})`);
  }
}

interface Publication {
  readonly fresh: string;
  readonly before: string | undefined;
  readonly signer: Signer;
}

async function fill(publication: Publication, request: PublishRequest): Promise<Published> {
  const { fresh, before, signer } = publication;
  const known: Members = before === undefined ? new Map() : await readMembers(before);
  const wish = { channels: request.channels, prereleases: request.prereleases ?? false, packages: request.packages };
  const input: AddInput = { ...publication, members: known, ...wish };
  const { members, left } = await addPackages(input);
  const { packages, prereleases } = wish;
  const leftClients = await addClients({ fresh, before, packages, prereleases });
  const { charts, left: leftCharts } = await writeChartTree({ ...publication, packages, prereleases });
  const leftImages = await writeOciTree({ fresh, before, packages, prereleases, charts });
  await writeMembers(fresh, members);
  const channels = [...new Set([...members.values()].flat())].sort();
  const tree = { fresh, before, members, signer, now: request.now };
  await mkdir(join(fresh, "keys"));
  await writeFile(join(fresh, "keys/platform.asc"), await signer.publicKeys());
  await writeAptTree(tree, channels);
  await writeYumTree(tree, channels, join(fresh, "rpms"));
  const count = (channel: Channel): number => [...members.values()].filter((list) => list.includes(channel)).length;
  return {
    channels: Object.fromEntries(channels.map((channel) => [channel, count(channel)])),
    left: [...left, ...leftClients, ...leftCharts, ...leftImages],
  };
}

async function switchTo(link: string, target: string): Promise<void> {
  await rm(`${link}.new`, { force: true });
  await symlink(target, `${link}.new`);
  await rename(`${link}.new`, link);
}

/** The publication before stays for readers in the middle of it. */
async function removeOld(out: string, kept: readonly string[]): Promise<void> {
  const all = (await readdir(join(out, publications))).filter((name) => publicationName.test(name));
  for (const name of all) if (!kept.includes(name)) await rm(join(out, publications, name), { recursive: true });
}

/** Keeps others from changing the repository in `out`. */
export async function lockRepository(out: string): Promise<AsyncDisposable> {
  const folder = join(out, publications);
  if ((await realpath(folder)) !== join(await realpath(out), publications))
    throw new Error(`${folder} is a link to ${await realpath(folder)}: give the repository's own folder, since nothing outside of it is written`);
  const file = join(folder, "lock");
  try {
    await (await open(file, "wx")).close();
  } catch (failure) {
    throw new Error(`${file} is there: another run publishes. If none does, delete it.`, { cause: failure });
  }
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}
