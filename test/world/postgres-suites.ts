import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { keptFolder } from "./kept-folder.ts";
import { NotHere } from "./not-here.ts";
import { outwardEnv } from "./outward-env.ts";
import { output, run } from "./program.ts";

/* PostgreSQL's own tests: Debian has their drivers in the client's package, and everything else in the source. */

const major = "15";
const root = `/usr/lib/postgresql/${major}`;
const drivers = `${root}/lib/pgxs/src/test`;

/** A suite of PostgreSQL, and how it is run. */
export interface PostgresSuite {
  readonly name: "isolation" | "regress";
  readonly driver: string;
  /** Beside the server's address and the folders. */
  readonly options: readonly string[];
}

export const isolationSuite: PostgresSuite = {
  name: "isolation",
  driver: `${drivers}/isolation/pg_isolation_regress`,
  options: ["--schedule=isolation_schedule", "--dbname=isolation_regression"],
};
export const regressionSuite: PostgresSuite = {
  name: "regress",
  driver: `${drivers}/regress/pg_regress`,
  options: ["--schedule=parallel_schedule", "--dbname=regression", "--max-connections=20", "--dlpath=."],
};

/** Folder of `isolation` and `regress` with their specifications and what they load into the server. Throws NotHere where Debian is out of reach. */
export async function postgresSuites(): Promise<string> {
  if (!existsSync(isolationSuite.driver)) throw new NotHere(`the drivers of PostgreSQL's tests (postgresql-client-${major}) are not installed`);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own
  const version = (await run("dpkg-query", ["-W", "-f", "${Version}", `postgresql-client-${major}`])).stdout;
  return await keptFolder({ name: "postgres-suites", contents: { version, form: 1 } }, (folder) => fetch(folder, version));
}

async function fetch(folder: string, version: string): Promise<void> {
  const inbox = `${folder}.inbox`;
  await rm(inbox, { recursive: true, force: true });
  await mkdir(join(inbox, "lists/partial"), { recursive: true });
  try {
    await aptGet(inbox, ["update"]);
    await aptGet(inbox, ["source", "--download-only", `postgresql-${major}=${version}`]);
    await aptGet(inbox, ["download", `postgresql-server-dev-${major}=${version}`]);
    const unpack = `tar -xf *.orig.tar.* --strip-components=3 -C "$1" --wildcards '*/src/test/isolation/*' '*/src/test/regress/*'; dpkg -x *.deb headers`;
    await output("sh", ["-ec", unpack, "sh", folder], { cwd: inbox });
    const headers = join(inbox, `headers/usr/include/postgresql/${major}/server`);
    const library = ["-O1", "-shared", "-fPIC", "-I", headers, "-o", "regress.so", "regress.c"];
    await output("gcc", library, { cwd: join(folder, "regress") });
  } finally {
    await rm(inbox, { recursive: true });
  }
}

/** apt with sources and lists of its own: this machine's may have no source packages. */
async function aptGet(inbox: string, args: readonly string[]): Promise<void> {
  const codename = /^VERSION_CODENAME=(\w+)/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "";
  const places = [`http://deb.debian.org/debian ${codename} main`, `http://deb.debian.org/debian-security ${codename}-security main`];
  await writeFile(join(inbox, "sources"), places.map((place) => `deb ${place}\ndeb-src ${place}\n`).join(""));
  const settings = {
    "Dir::Etc::sourcelist": join(inbox, "sources"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": join(inbox, "lists"),
    "Dir::Cache": inbox,
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  const done = await run("apt-get", ["-qq", ...options, ...args], { cwd: inbox, env: outwardEnv(), limitMs: 180_000 });
  if (done.status !== 0) throw new NotHere(`apt-get ${args.join(" ")} is not possible here: ${done.stderr.trim().split("\n").at(-1)}`);
}

export interface SuiteRun {
  /** Own copy of the suite; the server reads and writes files there. */
  readonly folder: string;
  readonly port: number;
}

/** Runs a suite against a server; the outcome of each of its tests. */
export async function runSuite({ driver, options }: PostgresSuite, { folder, port }: SuiteRun): Promise<ReadonlyMap<string, string>> {
  const where = ["--host=127.0.0.1", `--port=${port}`, "--user=postgres", `--bindir=${root}/bin`, "--inputdir=.", "--outputdir=."];
  const env = { PGSSLMODE: "disable", PGGSSENCMODE: "disable", LC_ALL: "C.UTF-8" };
  const { stdout, stderr } = await run(driver, [...where, ...options], { cwd: folder, env, limitMs: 1_500_000 });
  const outcomes = new Map(
    [...stdout.matchAll(/^(?:test)?\s+(\S+)\s+\.\.\. (ok|FAILED|failed \(ignored\))/gm)].map(([, name = "", outcome = ""]) => [name, outcome]),
  );
  if (outcomes.size === 0) throw new Error(`${driver} ran no test\n${stdout}${stderr}`);
  return outcomes;
}
