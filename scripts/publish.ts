import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { copyRepository } from "./repository/copy-out.ts";

/*
 * publish.ts --out DIR HOST:/FOLDER: copies the repository in DIR to the folder from which it is served; readers see the one before
 * until all of it is there (docs/packages.md). Needs rsync here and there, and ssh.
 */

const { values, positionals } = parseArgs({ options: { out: { type: "string", default: "dist/repository" } }, allowPositionals: true });
const [to = ""] = positionals;
try {
  if (to === "" || positionals.length > 1) throw new Error("give one place: publish.ts --out DIR HOST:/FOLDER");
  await copyRepository(resolve(values.out), to);
  process.stdout.write(`published to ${to}\n`);
} catch (failure) {
  process.stderr.write(`ERROR: ${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}
