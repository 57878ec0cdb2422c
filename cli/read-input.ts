import type { Input } from "./io.ts";

/** Bytes of standard input until its end, or until `isEnough`, which gets all of them after each piece. */
export async function readInput(stdin: Input, isEnough: (all: readonly Buffer[], length: number) => boolean): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stdin) {
    const bytes = Buffer.from(piece as Buffer | string);
    pieces.push(bytes);
    length += bytes.length;
    if (isEnough(pieces, length)) break;
  }
  return Buffer.concat(pieces);
}
