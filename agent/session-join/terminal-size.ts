/** Characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A size of 0 stands for the default; the kernel keeps 16 bits. */
export function clampSize({ columns, rows }: TerminalSize): TerminalSize {
  const within = (value: number, usual: number): number => (value >= 1 && value <= 65_535 ? Math.floor(value) : usual);
  return { columns: within(columns, 80), rows: within(rows, 24) };
}
