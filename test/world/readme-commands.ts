import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./package-world-sources.ts";

const text = readFileSync(join(root, "README.md"), "utf8");

/** The blocks of shell commands below a heading of README, in their order. */
export function readmeBlocks(heading: string): readonly string[] {
  const from = text.indexOf(`\n${heading}`);
  if (from < 0) throw new Error(`README has no heading ${heading}`);
  const end = text.indexOf("\n## ", from + 1);
  return [...text.slice(from, end).matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block ?? "");
}

/** The command inside of README's text or tables, between backticks, that begins like this and stands after `after`. */
export function readmeCommand(begin: string, after = ""): string {
  const from = text.indexOf(`\`${begin}`, text.indexOf(after));
  if (from < 0) throw new Error(`README has no command ${begin} after ${after}`);
  // A table's cell has \| where the command has |.
  return text.slice(from + 1, text.indexOf("`", from + 1)).replaceAll("\\|", "|");
}
