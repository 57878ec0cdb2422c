import { layers } from "./layers.ts";

const begin = "| folder | may import |\n|---|---|\n";

/** The layer table of ARCHITECTURE.md, a row for each folder. */
export function layerTable(): string {
  const rows = Object.entries(layers).map(
    ([folder, targets]) => `| \`${folder}\` | ${targets.length === 0 ? "nothing of ours" : grouped(targets).join(", ")} |`,
  );
  return `${begin}${rows.join("\n")}\n`;
}

/** The table that a page has. */
export function tableIn(page: string): string | undefined {
  const at = page.indexOf(begin);
  return at < 0 ? undefined : page.slice(at, page.indexOf("\n\n", at) + 1);
}

/** `core/{errors,log}` in place of both. */
function grouped(targets: readonly string[]): readonly string[] {
  const core = targets.flatMap((target) => /^core\/([^/]+)$/.exec(target)?.[1] ?? []);
  const others = targets.filter((target) => !/^core\/[^/]+$/.test(target)).map((target) => `\`${target}\``);
  if (core.length === 0) return others;
  return [core.length === 1 ? `\`core/${core[0]}\`` : `\`core/{${core.join(",")}}\``, ...others];
}
