import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { lockRepository, publications, served } from "./publish.ts";

/** rsync's end when the program of the other side could not be run; a shell's for a program that is not there. */
const notThere = new Set([12, 127]);

/** All but the owner, whom the other side may not know. */
const asTheyAre = ["--recursive", "--links", "--perms", "--times", "--hard-links", `--exclude=/${publications}/lock`];

/**
 * Copies a repository to the folder it is served from: `HOST:/FOLDER`, or a folder here. Readers see the publication before until
 * three links are switched. Files that two publications share are copied once, and linked there as they are here. Publications that
 * are gone here are removed there at the end. Cut anywhere, the next run completes it.
 */
export async function copyRepository(out: string, to: string): Promise<void> {
  await access(join(out, "apt")).catch((cause: unknown) => {
    throw new Error(`${out} is not a repository; make it with: make repository KEY=…`, { cause });
  });
  await using _lock = await lockRepository(out);
  const folder = to.endsWith("/") ? to : `${to}/`;
  const [trees, switched] = [join(out, publications), served.map((part) => join(out, part)).filter(existsSync)];
  await rsync(to, [...asTheyAre, trees, folder]);
  for (const link of switched) await rsync(to, ["--links", link, folder]);
  await rsync(to, [...asTheyAre, "--delete-after", trees, folder]);
}

async function rsync(to: string, args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)("rsync", [...args], { maxBuffer: 1024 * 1024 });
  } catch (failure) {
    const { code, stderr } = failure as { code?: number | string; stderr?: string };
    if (code === "ENOENT") throw new Error("rsync is missing here: install the package rsync", { cause: failure });
    const said = (stderr ?? "").trim();
    const hint =
      notThere.has(Number(code)) && /rsync: (command )?not found|rsync: No such file/.test(said) ? "; install the package rsync there" : "";
    throw new Error(`could not copy to ${to}: ${said || String(failure)}${hint}`, { cause: failure });
  }
}
