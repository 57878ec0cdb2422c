import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mirror } from "./machine-layers.ts";
import { NotHere } from "./not-here.ts";
import { outwardEnv } from "./outward-env.ts";
import { type Finished, run } from "./program.ts";

/** Runs a command of apt with one Debian release as its only source, and nothing of this machine's state. */
export type OwnApt = (command: readonly string[]) => Promise<Finished>;

/** Its lists and packages are in `dir`. Throws NotHere on a machine without apt. */
export async function ownApt(dir: string, release: "bookworm" | "trixie" | "sid"): Promise<OwnApt> {
  for (const one of ["lists/partial", "cache/archives/partial"]) await mkdir(join(dir, one), { recursive: true });
  const from = await mirror().catch(() => undefined);
  if (from === undefined) throw new NotHere(`programs of Debian ${release} need apt`);
  const keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  await writeFile(join(dir, "status"), "");
  await writeFile(join(dir, "sources.list"), `deb [signed-by=${keys}] ${from} ${release} main\n`);
  const places = { "Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::Cache": "cache", "Dir::State::status": "status" };
  const lines = Object.entries(places).map(([key, name]) => `${key} "${join(dir, name)}";\n`);
  const config = join(dir, "apt.conf");
  await writeFile(config, `${lines.join("")}Dir::Etc::sourceparts "-";\nAPT::Sandbox::User "root";\nAcquire::Languages "none";\n`);
  const env = { ...outwardEnv(), APT_CONFIG: config, DEBIAN_FRONTEND: "noninteractive" };
  return ([command = "", ...args]) => run(command, args, { env, limitMs: 120_000 });
}

/** Throws NotHere with the last line of what the command printed as an error. */
export function hereIf(done: Finished, what: string): void {
  if (done.status !== 0) throw new NotHere(`${what} is not possible here: ${done.stderr.trim().split("\n").at(-1) ?? done.status}`);
}
