import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { BuildArch } from "../build/build-target.ts";
import { run } from "../build/run.ts";

/** Debian's packages that the programs need: libraries of the runtime, their licenses, and authorities. */
const names = ["libc6", "libstdc++6", "libgcc-s1", "gcc-12-base", "ca-certificates"];
const suite = "bookworm";
const debianArch: Readonly<Record<BuildArch, string>> = { x64: "amd64", arm64: "arm64" };
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Paths of the packages for an architecture: those in `folder` if it holds any, so that an image can be made again from the same ones; otherwise
 * the newest of Debian stable with its security updates, by apt, which checks their signatures, and kept there.
 */
export async function basePackages(arch: BuildArch, folder: string): Promise<readonly string[]> {
  const kept = join(folder, arch);
  const held = await debsIn(kept);
  if (held.length > 0) return held;
  await mkdir(folder, { recursive: true });
  const fresh = await mkdtemp(join(folder, `.${arch}-`));
  try {
    await download(arch, fresh);
    await rm(kept, { recursive: true, force: true });
    await rename(fresh, kept);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return await debsIn(kept);
}

/** Name, version and SHA-256 of each package: what an image's label says that it is made of. */
export async function describePackages(debs: readonly string[]): Promise<string> {
  const lines = debs.map(async (deb) => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-deb's own
    const [name, version] = (await run("dpkg-deb", ["--show", "--showformat=${Package} ${Version}", deb])).split(" ");
    const hash = createHash("sha256").update(await readFile(deb));
    return `${name}=${version}@sha256:${hash.digest("hex")}`;
  });
  return (await Promise.all(lines)).sort().join(" ");
}

async function debsIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  const debs = found.filter((name) => name.endsWith(".deb")).sort();
  if (debs.length === 0) return [];
  const missing = names.filter((name) => !debs.some((deb) => basename(deb).startsWith(`${name}_`)));
  if (missing.length > 0 || debs.length > names.length)
    throw new Error(`${folder} must hold one package each of ${names.join(", ")}, and nothing else`);
  return debs.map((name) => join(folder, name));
}

/** Runs apt with a state of its own: the machine's packages and architecture do not matter. */
async function download(arch: BuildArch, folder: string): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "platform-image-apt-"));
  try {
    for (const one of ["lists/partial", "cache/archives/partial"]) await mkdir(join(state, one), { recursive: true });
    await writeFile(join(state, "status"), "");
    const site = await mirror();
    const sources = [`${site} ${suite} main`, `${site.replace(/\/debian\/?$/, "/debian-security")} ${suite}-security main`];
    await writeFile(join(state, "sources.list"), sources.map((source) => `deb [signed-by=${keyring}] ${source}\n`).join(""));
    const places = { "Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::Cache": "cache", "Dir::State::status": "status" };
    const own = { "Dir::Etc::sourceparts": "-", "APT::Architecture": debianArch[arch], "APT::Sandbox::User": "root", "Acquire::Languages": "none" };
    const settings = { ...own, ...Object.fromEntries(Object.entries(places).map(([key, name]) => [key, join(state, name)])) };
    const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";\n`);
    await writeFile(join(state, "apt.conf"), `#clear APT::Architectures;\nAPT::Architectures { "${debianArch[arch]}"; };\n${lines.join("")}`);
    const env = { APT_CONFIG: join(state, "apt.conf"), ...outward() };
    await run("apt-get", ["update", "-qq", "-o", "APT::Update::Error-Mode=any"], { env });
    await run("apt-get", ["download", "-qq", ...names], { env, cwd: folder });
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

/** The Debian mirror that this machine's apt is set up with. Throws where it has none. */
async function mirror(): Promise<string> {
  const format = ["--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"];
  const [first = ""] = (await run("apt-get", ["indextargets", ...format], { env: outward() })).split("\n");
  if (first === "") throw new Error("apt has no source of Debian packages on this machine: add one to its sources");
  return first.replace(/\/$/, "");
}

/** The HTTP proxy is the user's setting. */
function outward(): Record<string, string> {
  const wanted = Object.entries(process.env).filter(([name]) => /^(https?_proxy|no_proxy|APT_CONFIG)$/i.test(name));
  return Object.fromEntries(wanted.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
