import { createHash } from "node:crypto";
import { link, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { run } from "../build/run.ts";
import type { Channel } from "./channel.ts";
import { type Members, offeredBy } from "./members.ts";
import { type IndexFile, releaseText } from "./release-text.ts";
import type { Signer } from "./signer.ts";

export interface TreeInput {
  /** The new publication, and the one before, if any. */
  readonly fresh: string;
  readonly before: string | undefined;
  readonly members: Members;
  readonly signer: Signer;
  readonly now: Date;
}

/** How long an index is good, ms: re-running refreshes it. */
export const validMs = 14 * 24 * 3_600_000;
/** How long indexes of earlier publications can be fetched by their hash, ms: a reader with the Release file of then gets its index. */
const keptMs = 2 * 24 * 3_600_000;
const architectures = ["amd64", "arm64"];

/** Where the pool keeps a deb. */
export function poolPath(file: string): string {
  const name = /^[a-z0-9-]+/.exec(file)?.[0] ?? "";
  return join("pool/main", name.charAt(0), name, file);
}

/** Writes the suites of an apt repository whose pool is filled: indexes, by hash as well, and signed Release files. */
export async function writeAptTree(input: TreeInput, channels: readonly Channel[]): Promise<void> {
  const apt = join(input.fresh, "apt");
  await mkdir(join(apt, "pool"), { recursive: true });
  // One stanza a package, in the order of the paths.
  const stanzas = (await run("apt-ftparchive", ["packages", "pool"], { cwd: apt })).split(/\n\n+/).filter((stanza) => stanza.trim() !== "");
  for (const channel of channels) await writeSuite(input, channel, stanzas);
}

async function writeSuite({ fresh, before, members, signer, now }: TreeInput, channel: Channel, stanzas: readonly string[]): Promise<void> {
  const suite = join("apt/dists", channel);
  const folder = join(fresh, suite);
  const offered = new Set(offeredBy(members, channel).map(poolPath));
  const own = stanzas.filter((stanza) => offered.has(field(stanza, "Filename")));
  const indexes: IndexFile[] = [];
  for (const arch of architectures) {
    const text = own.filter((stanza) => field(stanza, "Architecture") === arch).map((stanza) => `${stanza.trim()}\n\n`);
    const path = `main/binary-${arch}`;
    if (before !== undefined) await keepByHash(join(before, suite, path), join(folder, path), now);
    for (const [name, bytes] of Object.entries({ Packages: Buffer.from(text.join("")), "Packages.gz": gzipSync(text.join(""), { level: 9 }) })) {
      indexes.push(await writeIndex(folder, `${path}/${name}`, bytes));
    }
  }
  const validUntil = new Date(now.getTime() + validMs);
  const release = join(folder, "Release");
  await writeFile(release, releaseText({ suite: channel, architectures, date: now, validUntil, indexes }));
  await signer.clearsign(release, join(folder, "InRelease"));
  await signer.detachedSign(release, join(folder, "Release.gpg"));
}

async function writeIndex(folder: string, path: string, bytes: Buffer): Promise<IndexFile> {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const byHash = join(folder, dirname(path), "by-hash/SHA256", sha256);
  await mkdir(dirname(byHash), { recursive: true });
  // Replaces one that was kept: its time starts again.
  await writeFile(join(folder, path), bytes);
  await linkFresh(join(folder, path), byHash);
  return { path, size: bytes.length, sha256 };
}

async function linkFresh(from: string, to: string): Promise<void> {
  const exists = (await stat(to).catch(() => undefined)) !== undefined;
  if (!exists) await link(from, to);
}

async function keepByHash(from: string, to: string, now: Date): Promise<void> {
  const [source, target] = [from, to].map((folder) => join(folder, "by-hash/SHA256")) as [string, string];
  await mkdir(target, { recursive: true });
  for (const name of await readdir(source).catch(() => [])) {
    const { mtimeMs } = await stat(join(source, name));
    if (now.getTime() - mtimeMs < keptMs) await link(join(source, name), join(target, name));
  }
}

function field(stanza: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, "m").exec(stanza)?.[1] ?? "";
}
