/** Whether a name matches a shell's pattern: `*`, `?`, `[a-z]`, `[!a]`, and a backslash before any of them. A leading dot must be explicit. */
export function matchName(pattern: string, name: string): boolean {
  if (name.startsWith(".") && !pattern.startsWith(".")) return false;
  // Position of the last star, and the end of its match in the name.
  let star: { readonly after: number; taken: number } | undefined;
  let at = 0;
  let index = 0;
  while (index < name.length) {
    if (pattern[at] === "*") {
      at += 1;
      star = { after: at, taken: index };
      continue;
    }
    const next = matchOne(pattern, at, name[index] as string);
    if (next !== undefined) {
      at = next;
      index += 1;
    } else if (star !== undefined) {
      star.taken += 1;
      index = star.taken;
      at = star.after;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

/** Position after the pattern's next part when that part matches the letter. */
function matchOne(pattern: string, at: number, letter: string): number | undefined {
  const sign = pattern[at];
  if (sign === undefined) return undefined;
  if (sign === "?") return at + 1;
  if (sign === "\\" && at + 1 < pattern.length) return pattern[at + 1] === letter ? at + 2 : undefined;
  const set = sign === "[" ? /^\[(!|\^)?(\]?[^\]]*)\]/.exec(pattern.slice(at)) : null;
  if (set === null) return sign === letter ? at + 1 : undefined;
  return isInSet(set[2] as string, letter) === (set[1] === undefined) ? at + set[0].length : undefined;
}

function isInSet(set: string, letter: string): boolean {
  for (let index = 0; index < set.length; index += 1) {
    const last = set[index + 1] === "-" ? set[index + 2] : undefined;
    if (last !== undefined) {
      if ((set[index] as string) <= letter && letter <= last) return true;
      index += 2;
    } else if (set[index] === letter) return true;
  }
  return false;
}
