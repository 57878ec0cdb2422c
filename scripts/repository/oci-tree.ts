import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, copyFile, link, mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import semver from "semver";
import { type Blob, type Descriptor, describe, imageTypes, json } from "../image/oci-layout.ts";
import type { PublishedChart } from "./chart-tree.ts";

export interface OciTree {
  readonly fresh: string;
  readonly before: string | undefined;
  /** Folder with images to add, `platform-ent-<version>.oci` as `make image` writes them, if any. */
  readonly packages: string | undefined;
  readonly prereleases: boolean;
  /** Charts, which are in the registry too. */
  readonly charts: readonly PublishedChart[];
}

const folder = "oci";
const images = "platform-ent";
const refName = "org.opencontainers.image.ref.name";
const helmTypes = {
  config: "application/vnd.cncf.helm.config.v1+json",
  chart: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
  provenance: "application/vnd.cncf.helm.chart.provenance.v1.prov",
} as const;

interface Index {
  readonly manifests: readonly Descriptor[];
}

/** Takes over the images of the publication before and adds new ones, and the charts; names of the images that were not added. Each repository is an OCI layout. */
export async function writeOciTree(tree: OciTree): Promise<readonly string[]> {
  const { packages, prereleases, before } = tree;
  const repository = await Repository.open(tree, images);
  const left: string[] = [];
  if (before !== undefined) await repository.takeOver(join(before, folder, images));
  for (const name of packages === undefined ? [] : (await readdir(packages)).filter((one) => imageVersion(one) !== undefined).sort()) {
    if (semver.prerelease(imageVersion(name) ?? "") === null || prereleases) await repository.takeOver(join(packages ?? "", name));
    else left.push(name);
  }
  await repository.save();
  const charts = await Repository.open(tree, "charts/platform-kube-agent");
  for (const chart of tree.charts) await addChart(charts, chart);
  await charts.save();
  return left;
}

function imageVersion(name: string): string | undefined {
  const [, version = ""] = /^platform-ent-(.+)\.oci$/.exec(name) ?? [];
  return semver.valid(version) === null ? undefined : version;
}

async function addChart(repository: Repository, { file, version, about }: PublishedChart): Promise<void> {
  const config = await repository.add(json(about), helmTypes.config);
  const layers = [
    await repository.add(await readFile(file), helmTypes.chart),
    await repository.add(await readFile(`${file}.prov`), helmTypes.provenance),
  ];
  const manifest = json({ schemaVersion: 2, mediaType: imageTypes.manifest, config, layers });
  // Tags have no "+".
  repository.tag(version.replace("+", "_"), await repository.add(manifest, imageTypes.manifest));
}

class Repository {
  readonly #path: string;
  readonly #tags = new Map<string, Descriptor>();

  private constructor(path: string) {
    this.#path = path;
  }

  static async open({ fresh }: OciTree, name: string): Promise<Repository> {
    const path = join(fresh, folder, name);
    await mkdir(join(path, "blobs/sha256"), { recursive: true });
    return new Repository(path);
  }

  async add(blob: Blob, mediaType: string): Promise<Descriptor> {
    const described = describe(blob, mediaType);
    await writeFile(this.#blob(described.digest), blob);
    return described;
  }

  /** A version that clusters may run never changes; a signature may be replaced, as when a key is. */
  tag(name: string, descriptor: Descriptor): void {
    const known = this.#tags.get(name);
    if (known !== undefined && known.digest !== descriptor.digest && !name.endsWith(".sig")) {
      throw new Error(`the image ${name} is published already with another content; give the new one another version`);
    }
    const { annotations: _, ...rest } = descriptor;
    this.#tags.set(name, rest);
  }

  /** All tags of another layout, and what they lead to. */
  async takeOver(other: string): Promise<void> {
    const index = await readFile(join(other, "index.json"), "utf8").catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return undefined;
      throw thrown;
    });
    if (index === undefined) return;
    for (const manifest of (JSON.parse(index) as Index).manifests) {
      await this.#copy(other, manifest);
      this.tag(manifest.annotations?.[refName] ?? "", manifest);
    }
  }

  async save(): Promise<void> {
    const manifests = [...this.#tags].sort().map(([name, descriptor]) => ({ ...descriptor, annotations: { [refName]: name } }));
    await writeFile(join(this.#path, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    await writeFile(join(this.#path, "index.json"), json({ schemaVersion: 2, mediaType: imageTypes.index, manifests }));
  }

  /** A blob, and for a manifest or index everything in it. */
  async #copy(from: string, { digest, mediaType }: Descriptor): Promise<void> {
    const [source, target] = [join(from, "blobs", digest.replace(":", "/")), this.#blob(digest)];
    const isKnown = await access(target).then(
      () => true,
      () => false,
    );
    if (!isKnown) await linkOrCopy(source, target, digest);
    if (mediaType !== imageTypes.manifest && mediaType !== imageTypes.index) return;
    const {
      manifests = [],
      config,
      layers = [],
    } = JSON.parse(await readFile(target, "utf8")) as Partial<Index> & {
      readonly config?: Descriptor;
      readonly layers?: readonly Descriptor[];
    };
    for (const one of [...manifests, ...(config === undefined ? [] : [config]), ...layers]) await this.#copy(from, one);
  }

  #blob(digest: string): string {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${digest} is not a digest`);
    return join(this.#path, "blobs", digest.replace(":", "/"));
  }
}

/** Only what has the digest that it is named for is published. */
async function linkOrCopy(named: string, target: string, digest: string): Promise<void> {
  // A symbolic link would be linked as such, and lead out of the publication.
  const source = await realpath(named);
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(source)) hash.update(chunk as Buffer);
  if (`sha256:${hash.digest("hex")}` !== digest) throw new Error(`${source} has another digest than its name`);
  await mkdir(dirname(target), { recursive: true });
  await link(source, target).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EXDEV") throw thrown;
    return copyFile(source, target);
  });
}
