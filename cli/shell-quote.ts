/** Words as a POSIX shell reads them: quoted where that is necessary. */
export function shellQuote(words: readonly string[]): string {
  return words.map((word) => (/^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
