import { Writable } from "node:stream";
import type { Output } from "../../io.ts";

/** Maximum line length, bytes; a longer line is split into lines of this size. */
export const maxLine = 65_536;

const newline = 10;

/**
 * Passes bytes on to `to` line by line, each behind `prefix` and in one write: lines of several such streams never mix.
 * A missing end of line at the end is added. Bytes stay unchanged.
 */
export function lineOutput(to: Output, prefix: string): Writable {
  const head = Buffer.from(prefix);
  let rest: Buffer = Buffer.alloc(0);
  const lines = (chunk: Buffer): Buffer[] => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const parts: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      parts.push(head, bytes.subarray(from, end + 1));
      from = end + 1;
    }
    for (; bytes.length - from > maxLine; from += maxLine) parts.push(head, bytes.subarray(from, from + maxLine), Buffer.of(newline));
    // A copy: a small rest must not hold a large chunk.
    rest = Buffer.from(bytes.subarray(from));
    return parts;
  };
  const pass = (parts: readonly Buffer[], done: (error?: Error | null) => void): void => {
    if (parts.length === 0) done();
    else to.write(Buffer.concat(parts), done);
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => pass(lines(chunk), done),
    final: (done) => pass(rest.length === 0 ? [] : [head, rest, Buffer.of(newline)], done),
  });
}
