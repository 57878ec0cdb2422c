/**
 * At most so many characters of a text, as a text of their own: V8 keeps the whole of a text in memory for as long as a slice of it. A pair of surrogates that the cut
 * divides ends as U+FFFD. Pure.
 */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length)).toString("utf8");
}
