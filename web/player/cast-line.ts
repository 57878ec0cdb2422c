/** A size of the terminal. */
export interface CastSize {
  readonly columns: number;
  readonly rows: number;
}

/** One line of the recording of a terminal: what it showed, or its new size. */
export type CastLine = ({ readonly time: number } & { readonly text: string }) | ({ readonly time: number } & { readonly size: CastSize });

/** Largest size of a terminal that is drawn: others are as large as that. */
const largest = { columns: 500, rows: 200 } as const;

/** Reads a line of asciicast v2; undefined for one that shows nothing. Pure. */
export function readCastLine(line: string): CastLine | undefined {
  const value = jsonOf(line);
  if (!Array.isArray(value)) return headerSize(value);
  const [time, kind, data] = value as readonly unknown[];
  if (typeof time !== "number" || !(time >= 0) || !Number.isFinite(time) || typeof data !== "string") return undefined;
  if (kind === "o") return { time, text: data };
  const [, columns = "", rows = ""] = (kind === "r" && /^(\d{1,5})x(\d{1,5})$/.exec(data)) || [];
  return columns === "" ? undefined : { time, size: bounded({ columns: Number(columns), rows: Number(rows) }) };
}

function headerSize(value: unknown): CastLine | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { version, width, height } = value as Readonly<Record<string, unknown>>;
  if (version !== 2 || typeof width !== "number" || typeof height !== "number") return undefined;
  return { time: 0, size: bounded({ columns: width, rows: height }) };
}

function bounded({ columns, rows }: CastSize): CastSize {
  const within = (value: number, most: number): number => (Number.isInteger(value) ? Math.min(Math.max(2, value), most) : 24);
  return { columns: within(columns, largest.columns), rows: within(rows, largest.rows) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
