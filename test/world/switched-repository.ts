import { chmod, constants, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { type PackageWorld, packagedVersions } from "./package-world.ts";
import { output } from "./program.ts";
import { makeTestKey } from "./stand-in-packages.ts";

/**
 * Contents of the repository: `good`; `tampered`: its index was changed after it was signed; `wrong_key`: signed by an unknown key;
 * `expired`: an index of long ago; `old`: a well signed index from when there was nothing but the version before (a replay, or
 * a version that nobody has published); `bad_package`: packages that differ from the index; `gone`: nothing.
 */
type Offered = "good" | "tampered" | "wrong_key" | "expired" | "old" | "bad_package" | "gone";

/** The real packages of the world in a folder for `packages_dir` that offers them in good ways and bad. */
export interface SwitchedRepository extends AsyncDisposable {
  readonly dir: string;
  offer(what: Offered): Promise<void>;
}

export async function openSwitchedRepository(world: PackageWorld): Promise<SwitchedRepository> {
  const dir = await mkdtemp(join(tmpdir(), "platform-switched-"));
  const gnupghome = join(dir, "stranger");
  await makeTestKey(gnupghome, "Stranger");
  const tree = async (name: string): Promise<string> => {
    const out = join(dir, name);
    await mkdir(out);
    await world.copyTo(out);
    return out;
  };
  await tree("good");
  const yesterday = new Date(Date.now() - 86_400_000);
  const ours = { gnupghome: world.gnupghome };
  await publishRepository({ out: await tree("expired"), keys: ours, now: new Date(Date.now() - 400 * 86_400_000) });
  await publishRepository({ out: await tree("wrong_key"), keys: { gnupghome }, now: new Date() });
  await publishRepository({ packages: await oldPackages(world, join(dir, "before")), out: join(dir, "old"), keys: ours, now: yesterday });
  await rewrite(await tree("tampered"), /\/(InRelease|repomd\.xml)$/, (body) =>
    Buffer.concat([body.subarray(0, 200), Buffer.from("\n"), body.subarray(200)]),
  );
  await rewrite(await tree("bad_package"), /\.(deb|rpm)$/, (body) => body.fill(0, body.length - 200, body.length - 100));
  const parts = ["keys", "apt", "yum"];
  const offer = async (what: Offered): Promise<void> => {
    await touchIndexes(join(dir, what));
    for (const part of parts) {
      await symlink(join(what, part), join(dir, "next"));
      await rename(join(dir, "next"), join(dir, part));
    }
  };
  await offer("good");
  return {
    dir,
    offer,
    [Symbol.asyncDispose]: async () => {
      for (const home of [gnupghome, world.gnupghome]) await output("gpgconf", ["--homedir", home, "--kill", "all"]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function oldPackages(world: PackageWorld, to: string): Promise<string> {
  await mkdir(to);
  const names = (await readdir(world.packages)).filter((name) => new RegExp(`[_-]${packagedVersions.now.replaceAll(".", "\\.")}[_-]`).test(name));
  for (const name of names) await copyFile(join(world.packages, name), join(to, name), constants.COPYFILE_FICLONE);
  return to;
}

/** The current contents are newer than the previous ones: otherwise a conditional request would be answered as unchanged. */
async function touchIndexes(tree: string): Promise<void> {
  for (const path of await filesIn(tree, /\/(InRelease|Release|Release\.gpg|repomd\.xml\S*)$/)) await chmod(path, 0o644);
}

/** In a tree of hard links: a changed file is a new one. */
async function rewrite(tree: string, which: RegExp, change: (body: Buffer) => Buffer): Promise<void> {
  for (const path of await filesIn(tree, which)) {
    const body = change(await readFile(path));
    await rm(path);
    await writeFile(path, body);
  }
}

async function filesIn(tree: string, which: RegExp): Promise<string[]> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isFile() && which.test(join(entry.parentPath, entry.name)) ? [join(entry.parentPath, entry.name)] : []));
}
