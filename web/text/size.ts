/** A number of bytes: `812 B`, `1.5 KiB`, `3.2 MiB`. Pure. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** A number with its noun: `1 host`, `10,000 hosts`. Pure. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A word of a shell's command line, in quotes where it needs them. Pure. */
export function shellWord(text: string): string {
  return /^[\w.,:@/+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
