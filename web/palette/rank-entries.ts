/** A place or an act that the command palette offers. */
export interface PaletteEntry {
  readonly title: string;
  /** What it is: `page`, `host`, `application` … */
  readonly kind: string;
  /** Below the folder of the Web UI, or a whole path of another page of the proxy. */
  readonly path: string;
}

/** Maximum number of entries that are offered. */
const most = 12;

/** The entries in which every word occurs: first those whose title begins with the text, then those in which a word begins with it, pages before all else. Pure. */
export function rankEntries(entries: readonly PaletteEntry[], search: string): readonly PaletteEntry[] {
  const text = search.trim().toLowerCase();
  const words = text.split(/\s+/).filter((word) => word !== "");
  const found: { readonly entry: PaletteEntry; readonly rank: number }[] = [];
  for (const entry of entries) {
    const title = entry.title.toLowerCase();
    const whole = `${title} ${entry.kind}`;
    if (!words.every((word) => whole.includes(word))) continue;
    found.push({ entry, rank: rankOf(title, text) + (entry.kind === "page" ? 0 : 0.5) });
  }
  // A sort that keeps the order of equal ones.
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ entry }) => entry);
}

function rankOf(title: string, text: string): number {
  if (text === "" || title === text) return 0;
  if (title.startsWith(text)) return 1;
  const at = title.indexOf(text);
  if (at < 0) return 4;
  return /[a-z0-9]/.test(title.charAt(at - 1)) ? 3 : 2;
}
