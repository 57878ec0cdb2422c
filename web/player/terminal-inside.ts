import type { Terminal } from "@xterm/xterm";

/*
 * What @xterm/xterm 6.0.0 knows about a terminal besides its cells, by the private fields of that version: it has no other way to read them, and no sequence
 * sets all of them. screen.test.ts fails where another version has other fields.
 */

interface Look {
  fg: number;
  bg: number;
  clone(): Look;
}

interface InsideBuffer {
  x: number;
  y: number;
  readonly ybase: number;
  savedX: number;
  /** From the first row of the buffer. */
  savedY: number;
  readonly savedCurAttrData: Look;
  savedCharset: unknown;
  scrollTop: number;
  scrollBottom: number;
  tabs: object;
  readonly lines: { readonly length: number; get(row: number): { isWrapped: boolean } | undefined };
}

interface Inside {
  readonly buffers: { readonly normal: InsideBuffer; readonly alt: InsideBuffer };
  readonly coreService: { isCursorHidden: boolean; modes: object; decPrivateModes: object };
  readonly _charsetService: { charset: unknown; glevel: number; _charsets: readonly unknown[] };
  readonly _inputHandler: { _curAttrData: Look };
}

/** Cursor, margins, tabs, wrapped rows of both buffers; modes, character sets, colours of what comes next. */
export interface InsideState {
  /** Makes it the state of a terminal that has the same rows at its end. */
  putInto(terminal: Terminal): void;
}

/** Throws for a terminal of another version, which lacks a part of these. */
function insideOf(terminal: Terminal): Inside {
  const core = "_core" in terminal ? terminal._core : undefined;
  if (!isInside(core)) throw new Error("this version of xterm has other private fields");
  return core;
}

const parts = ["buffers", "coreService", "_charsetService", "_inputHandler"] as const satisfies readonly (keyof Inside)[];

function isInside(core: unknown): core is Inside {
  return typeof core === "object" && core !== null && parts.every((part) => part in core);
}

export function takeInside(terminal: Terminal): InsideState {
  const { buffers, coreService, _charsetService: sets, _inputHandler: input } = insideOf(terminal);
  const [putNormal, putAlternate] = [takeBuffer(buffers.normal), takeBuffer(buffers.alt)];
  const { isCursorHidden, modes, decPrivateModes } = structuredClone(pick(coreService));
  const { charset, glevel, _charsets: all } = sets;
  const [known, look] = [[...all], input._curAttrData.clone()];
  return {
    putInto: (other) => {
      const inside = insideOf(other);
      putNormal(inside.buffers.normal);
      putAlternate(inside.buffers.alt);
      Object.assign(inside.coreService, structuredClone({ isCursorHidden, modes, decPrivateModes }));
      Object.assign(inside._charsetService, { charset, glevel, _charsets: [...known] });
      inside._inputHandler._curAttrData = look.clone();
    },
  };
}

function pick({ isCursorHidden, modes, decPrivateModes }: Inside["coreService"]): Inside["coreService"] {
  return { isCursorHidden, modes, decPrivateModes };
}

function takeBuffer(buffer: InsideBuffer): (other: InsideBuffer) => void {
  const { x, y, ybase, savedX, savedCharset, scrollTop, scrollBottom, lines } = buffer;
  const { fg, bg } = buffer.savedCurAttrData;
  const [savedRow, tabs] = [buffer.savedY - ybase, { ...buffer.tabs }];
  // From the last row on: another terminal may have fewer rows above the screen.
  const wrapped = Array.from({ length: Math.min(lines.length, maxRows) }, (_, row) => lines.get(lines.length - 1 - row)?.isWrapped === true);
  return (other) => {
    Object.assign(other, { x, y, savedX, savedY: savedRow + other.ybase, savedCharset, scrollTop, scrollBottom, tabs: { ...tabs } });
    Object.assign(other.savedCurAttrData, { fg, bg });
    for (const [row, isWrapped] of wrapped.entries()) {
      const line = other.lines.get(other.lines.length - 1 - row);
      if (line !== undefined) line.isWrapped = isWrapped;
    }
  };
}

/** Rows of which it is kept whether they go on with the row above. */
const maxRows = 1_000;
