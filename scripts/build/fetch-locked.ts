import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { run } from "./run.ts";

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string } | undefined>>;
}

/**
 * The folder of a package that npm leaves out on this machine (another architecture): fetched with `npm pack` in the version of
 * the lock file, accepted only with the hash of the lock file, and kept by that hash.
 */
export async function fetchLocked(root: string, cache: string, name: string): Promise<string> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as LockFile;
  const entry = lock.packages[`node_modules/${name}`];
  const integrity = entry?.integrity;
  if (entry === undefined || integrity?.startsWith("sha512-") !== true) throw new Error(`package-lock.json has no sha512 of ${name}`);
  const hash = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
  const kept = join(cache, `${name.replace(/[@/]+/g, "-").replace(/^-/, "")}-${entry.version}-${hash.slice(0, 16)}`);
  if ((await stat(kept).catch(() => undefined)) !== undefined) return join(kept, "package");
  const fresh = `${kept}.${process.pid}`;
  await mkdir(fresh, { recursive: true });
  try {
    const file = (await ownNpm(["pack", `${name}@${entry.version}`, "--pack-destination", fresh], root)).trim().split("\n").at(-1) ?? "";
    const archive = join(fresh, file);
    const found = createHash("sha512")
      .update(await readFile(archive))
      .digest("hex");
    if (found !== hash) throw new Error(`${name}@${entry.version} from the registry has a different hash than in package-lock.json`);
    await run("tar", ["-xzf", archive, "-C", fresh, "--no-same-owner"]);
    await rm(archive);
    await rename(fresh, kept);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return join(kept, "package");
}

/** With the environment as it is, unlike everything else of the build: registry and proxy are the user's settings. */
async function ownNpm(args: readonly string[], cwd: string): Promise<string> {
  return (await promisify(execFile)("npm", [...args], { cwd, timeout: 300_000 })).stdout;
}
