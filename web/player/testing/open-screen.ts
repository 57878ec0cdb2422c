import { type IBufferCell, Terminal } from "@xterm/xterm";
import { Screen } from "../screen.ts";

/** A terminal that nobody sees, which works without a browser. */
export interface TestScreen extends Disposable {
  readonly screen: Screen;
  /** What is to be seen: each row with its colours, the cursor's place, the size. */
  picture(): readonly string[];
}

export function openScreen({ columns = 80, rows = 24 } = {}): TestScreen {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 5_000 });
  return { screen: new Screen(terminal), picture: () => pictureOf(terminal), [Symbol.dispose]: () => terminal.dispose() };
}

function pictureOf({ buffer: { active }, rows, cols }: Terminal): readonly string[] {
  const rowAt = (row: number): string => {
    const line = active.getLine(active.baseY + row);
    return Array.from({ length: cols }, (_, column) => cellText(line?.getCell(column)))
      .join("")
      .trimEnd();
  };
  return [`${active.type} ${cols}x${rows} ${active.cursorX},${active.cursorY}`, ...Array.from({ length: rows }, (_, row) => rowAt(row))];
}

function cellText(cell: IBufferCell | undefined): string {
  if (cell === undefined) return "";
  const text = cell.getChars() === "" && cell.getWidth() > 0 ? " " : cell.getChars();
  const look = [
    cell.isBold() === 0 || text === " " ? "" : "bold",
    cell.isFgDefault() || text === " " ? "" : `fg${cell.getFgColor()}`,
    cell.isBgDefault() ? "" : `bg${cell.getBgColor()}`,
  ];
  return `${look.join("") === "" || (text === " " && cell.isBgDefault()) ? "" : `<${look.join("")}>`}${text}`;
}
