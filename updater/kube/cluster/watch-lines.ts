import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Longest line of a watch, bytes: one object of the API server, which allows 1.5 MiB in its own storage. */
const maxLine = 4 * 1024 * 1024;

/**
 * The lines of a watch's answer, `<JSON>\n` each, however its bytes arrive: whole characters, without their ends. A last line without its end is cut
 * off and not returned.
 */
export class WatchLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** The lines that these bytes complete. Throws `limit` for one that is too long. */
  push(bytes: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10, from); end >= 0; end = bytes.indexOf(10, from)) {
      this.#keep(bytes.subarray(from, end));
      lines.push(Buffer.concat(this.#parts).toString("utf8"));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    this.#keep(bytes.subarray(from));
    return lines.filter((line) => line.trim() !== "");
  }

  #keep(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > maxLine) throw new PlatformError("limit", `a line of the watch is longer than ${maxLine} bytes`);
    if (bytes.length > 0) this.#parts.push(bytes);
  }
}
