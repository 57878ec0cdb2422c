export interface WindowFacts {
  /** Number of rows. */
  readonly count: number;
  /** Height of a row, px. */
  readonly rowHeight: number;
  /** How far the list begins above the visible part; negative when it begins below, px. */
  readonly above: number;
  /** Height of the visible part, px. */
  readonly visible: number;
}

/** Rows to draw: those that can be seen, and some around them; `from` to before `to`. */
export interface RowWindow {
  readonly from: number;
  readonly to: number;
}

/** Rows drawn beyond each end of the visible part, so that the Tab key finds the next one and quick scrolling shows no gap. */
const beyond = 12;

/** Which rows of a long list to draw. The window begins at an even row, so that stripes stay. Pure. */
export function windowOf({ count, rowHeight, above, visible }: WindowFacts): RowWindow {
  const first = Math.floor(Math.max(0, above) / rowHeight) - beyond;
  const last = Math.ceil((Math.max(0, above) + visible) / rowHeight) + beyond;
  const to = Math.min(count, Math.max(last, 2 * beyond));
  const from = Math.max(0, Math.min(first, to - 2 * beyond));
  return { from: from - (from % 2), to };
}
