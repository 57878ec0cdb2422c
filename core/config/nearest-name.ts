/** The known name that a mistyped one most likely means, or undefined if none is close. */
export function nearestName(typed: string, known: readonly string[]): string | undefined {
  const plain = typed.toLowerCase().replaceAll("-", "_").slice(0, 64);
  let best: { name: string; distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(plain, name);
    if (distance <= Math.max(1, Math.floor(name.length / 3)) && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** Number of insertions, deletions and replacements that turn one text into the other (Levenshtein), row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
