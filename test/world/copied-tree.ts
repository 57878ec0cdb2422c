import { chmod, mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { output } from "./program.ts";

/** Makes a new folder whose files try a copy: odd names, an empty one, a program, a link to `big`, times in the past. */
export async function makeTree(folder: string, big: Buffer): Promise<void> {
  const at = (name: string): string => join(folder, name);
  await mkdir(at("sub/deep"), { recursive: true });
  await writeFile(at("big"), big);
  await writeFile(at("sub/a b'c"), "quoted");
  await writeFile(at("sub/ü"), "umlaut");
  await writeFile(at("sub/deep/tool"), "#!/bin/sh\n");
  await chmod(at("sub/deep/tool"), 0o755);
  await writeFile(at("empty"), "");
  await symlink("big", at("link"));
  await utimes(at("sub"), 1_000_000_000, 1_100_000_000);
  await utimes(at("big"), 1_000_000_000, 1_200_000_000);
}

/** All names, kinds, modes and contents below a folder; `what`: other facts of a file, as `find -printf` has them. */
export async function shape(folder: string, what = "%P %y %m"): Promise<string> {
  const facts = await output("find", [folder, "-mindepth", "1", "-printf", `${what}\n`]);
  const sums = await output("sh", ["-c", 'cd "$1" && find . -type f -exec sha256sum {} + | sort', "sh", folder]);
  return facts.split("\n").toSorted().join("\n") + sums;
}
