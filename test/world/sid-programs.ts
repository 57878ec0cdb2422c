import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { keptFolder } from "./kept-folder.ts";
import { NotHere } from "./not-here.ts";
import { hereIf, ownApt } from "./own-apt.ts";
import { run } from "./program.ts";

/*
 * Programs that Debian has in sid only, beside those of this machine. apt checks their signatures and checksums. sid keeps one version of each, so the
 * tests cannot name one: they name its line, and say which program is gone when sid has left that line.
 */

/** The line of versions that the tests are for, by package. */
const wanted: Readonly<Record<string, RegExp>> = {
  "mysql-server-core": /^9\./,
  "mysql-client-core": /^9\./,
  "valkey-server": /^9\./,
  "valkey-tools": /^9\./,
  "postgresql-client-18": /^18\./,
  "redis-tools": /^(5:)?8\./,
};

const packageOf = {
  mysqld: "mysql-server-core",
  mysql: "mysql-client-core",
  mysqldump: "mysql-client-core",
  mysqlbinlog: "mysql-client-core",
  "valkey-server": "valkey-server",
  "valkey-cli": "valkey-tools",
  "redis-cli": "redis-tools",
  psql: "postgresql-client-18",
  pg_dump: "postgresql-client-18",
  pg_receivewal: "postgresql-client-18",
} as const;

export type SidProgram = keyof typeof packageOf;

export interface SidPrograms {
  /** Path of a program. Throws NotHere if sid has it no more in the wanted line. */
  path(name: SidProgram): string;
  /** Folder of all programs, for a PATH. */
  readonly folder: string;
  /** What stands for `/usr`. */
  readonly usr: string;
}

const libraries = "usr/lib/x86_64-linux-gnu";

/** Made at its first use, from some 80 packages: 75 MB to download, half a minute. Throws NotHere where that is not possible. */
export async function sidPrograms(): Promise<SidPrograms> {
  if (process.arch !== "x64") throw new NotHere(`programs of Debian sid are taken for x64 only, this is ${process.arch}`);
  const dir = await keptFolder({ name: "sid", contents: Object.entries(wanted).map(String) }, fill);
  const versions = JSON.parse(await readFile(join(dir, "versions.json"), "utf8")) as Record<string, string>;
  return {
    folder: join(dir, "bin"),
    usr: join(dir, "root/usr"),
    path: (name) => {
      const from = packageOf[name];
      const version = versions[from];
      if (version === undefined || wanted[from]?.test(version) !== true)
        throw new NotHere(`${name}: Debian sid has ${version === undefined ? "no package" : version} of ${from}, the tests are for ${wanted[from]}`);
      return join(dir, "bin", name);
    },
  };
}

async function fill(folder: string, path: string): Promise<void> {
  const root = join(folder, "root");
  const apt = await ownApt(join(folder, "apt"), "sid");
  hereIf(await apt(["apt-get", "update", "-qq", "-o", "APT::Update::Error-Mode=any"]), "apt-get update for Debian sid");
  const versions = candidates((await apt(["apt-cache", "policy", ...Object.keys(wanted)])).stdout);
  const install = ["apt-get", "install", "--yes", "-qq", "--download-only", "--no-install-recommends", ...Object.keys(versions)];
  hereIf(await apt(install), "download of packages from Debian sid");
  const archives = join(folder, "apt/cache/archives");
  const packages = (await readdir(archives)).filter((name) => name.endsWith(".deb"));
  for (const name of packages) hereIf(await run("dpkg-deb", ["-x", join(archives, name), root]), `dpkg-deb -x ${name}`);
  const unused = ["doc", "man", "locale", "perl", "perl5", "bash-completion"].map((name) => join(root, "usr/share", name));
  for (const one of [...unused, join(folder, "apt")]) await rm(one, { recursive: true, force: true });
  await writeFile(join(folder, "versions.json"), JSON.stringify(versions));
  await writeStarters(folder, join(path, "root"));
}

/** `apt-cache policy`: name, then its lines; a package that is gone has none, or `(none)`. */
function candidates(text: string): Record<string, string> {
  const found = [...text.matchAll(/^(\S+):\n(?: .*\n)*? {2}Candidate: (?!\(none\))(\S+)$/gm)];
  return Object.fromEntries(found.map(([, name = "", version = ""]) => [name, version]));
}

/** Each program by sid's own loader and libraries: those of this machine are older. */
async function writeStarters(folder: string, root: string): Promise<void> {
  await mkdir(join(folder, "bin"));
  const path = [libraries, `${libraries}/mysql/private`].map((name) => join(root, name)).join(":");
  const places: Partial<Record<SidProgram, string>> = { mysqld: "usr/sbin/mysqld" };
  for (const name of Object.keys(packageOf) as SidProgram[]) {
    const place = places[name] ?? (/^p(sql|g_)/.test(name) ? `usr/lib/postgresql/18/bin/${name}` : `usr/bin/${name}`);
    const line = `exec ${join(root, libraries)}/ld-linux-x86-64.so.2 --library-path ${path} ${join(root, place)} "$@"`;
    await writeFile(join(folder, "bin", name), `#!/bin/sh\n${line}\n`);
    await chmod(join(folder, "bin", name), 0o755);
  }
}
