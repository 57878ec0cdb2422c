/** Whether two states of a list that grows at its end, and may lose rows at its beginning, have the same rows. Pure. */
export function hasSameEnds<Row>(before: readonly Row[] | undefined, now: readonly Row[] | undefined): boolean {
  return before?.length === now?.length && before?.[0] === now?.[0] && before?.at(-1) === now?.at(-1);
}
