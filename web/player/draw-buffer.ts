import type { IBuffer, IBufferCell, IBufferLine } from "@xterm/xterm";

/** Rows of a buffer. */
export interface RowRange {
  readonly from: number;
  /** Without this one. */
  readonly to: number;
  readonly columns: number;
}

/** Output that draws rows of a buffer in an empty one of the same width, from its first row on: characters, colours, and what was erased in a colour. */
export function drawBuffer(buffer: IBuffer, { from, to, columns }: RowRange): string {
  const cell = buffer.getNullCell();
  const rows: string[] = [];
  for (let row = from; row < to; row += 1) rows.push(drawRow(buffer.getLine(row), columns, cell));
  return rows.join("\r\n");
}

function drawRow(line: IBufferLine | undefined, columns: number, into: IBufferCell): string {
  let [text, look] = ["", "0"];
  /** Erased cells before this one that are not drawn yet. */
  let gap = 0;
  const closeGap = (): void => {
    if (gap > 0) text += look === "0" ? `\u001b[${gap}C` : `\u001b[${gap}X\u001b[${gap}C`;
    gap = 0;
  };
  for (let column = 0; column < columns; column += 1) {
    const cell = line?.getCell(column, into);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const next = lookOf(cell);
    if (next !== look) {
      closeGap();
      text += `\u001b[${next}m`;
      look = next;
    }
    if (cell.getChars() === "") gap += 1;
    else {
      closeGap();
      text += cell.getChars();
    }
  }
  // What is after the end of a row needs no drawing, unless it has a colour. The next row begins without one: a screen that scrolls takes it on.
  if (look !== "0") {
    closeGap();
    text += "\u001b[0m";
  }
  return text;
}

/** Parameters of the sequence SGR that gives the look of a cell; `0`: none. */
function lookOf(cell: IBufferCell): string {
  if (cell.isAttributeDefault()) return "0";
  const flags = [
    cell.isBold() > 0 ? 1 : 0,
    cell.isDim() > 0 ? 2 : 0,
    cell.isItalic() > 0 ? 3 : 0,
    cell.isUnderline() > 0 ? 4 : 0,
    cell.isBlink() > 0 ? 5 : 0,
    cell.isInverse() > 0 ? 7 : 0,
    cell.isInvisible() > 0 ? 8 : 0,
    cell.isStrikethrough() > 0 ? 9 : 0,
    cell.isOverline() > 0 ? 53 : 0,
  ].filter((code) => code > 0);
  const front = cell.isFgDefault() ? [] : [`38;${colourOf(cell.isFgRGB(), cell.getFgColor())}`];
  const back = cell.isBgDefault() ? [] : [`48;${colourOf(cell.isBgRGB(), cell.getBgColor())}`];
  return ["0", ...flags, ...front, ...back].join(";");
}

function colourOf(isRgb: boolean, colour: number): string {
  return isRgb ? `2;${colour >> 16};${(colour >> 8) & 0xff};${colour & 0xff}` : `5;${colour}`;
}
