import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Shows } from "./list-filter.ts";
import { objectName, rowName } from "./object-name.ts";
import { endOfValue, isSpace, malformed, skipSpace, textOf, valueAt } from "./scan-json.ts";
import { ValueReader } from "./value-reader.ts";

/** Maximum size of an event, bytes. */
const mostEvent = 16 * 1024 * 1024;
const [openBrace, closeBracket, comma, lineEnd] = [0x7b, 0x5d, 0x2c, Buffer.from("\n")];

/**
 * Filters the events of a watch, one JSON object after the other. Bytes in, bytes out, whatever the chunks; an event goes on as soon as its last byte has
 * come. Bookmarks and errors pass; an object that cannot be named does not.
 */
export class WatchFilter {
  readonly #shows: Shows;
  readonly #event = new ValueReader(mostEvent);

  constructor(shows: Shows) {
    this.#shows = shows;
  }

  write(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (!this.#event.isOpen && isSpace(chunk[at])) {
        at += 1;
        continue;
      }
      if (!this.#event.isOpen && chunk[at] !== openBrace) throw malformed("is not that of a watch");
      const { at: next, whole } = this.#event.read(chunk, at);
      at = next;
      if (whole !== undefined && isShown(whole, this.#shows)) out.push(whole, lineEnd);
    }
    return Buffer.concat(out);
  }

  /** A watch may end anywhere: what was cut off is not shown. */
  end(): void {}
}

function isShown(event: Buffer, shows: Shows): boolean {
  const type = valueAt(event, 0, "type");
  const object = valueAt(event, 0, "object");
  if (type === undefined || object === undefined) throw malformed("has an event without a type or an object");
  switch (textOf(event, type) ?? "") {
    case "BOOKMARK":
    case "ERROR":
      return true;
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return isObjectShown(event, object, shows);
    default:
      throw new PlatformError("invalid", "the JSON has an event of an unknown type");
  }
}

/** All rows of a table: there is one in an event. */
function isObjectShown(event: Buffer, start: number, shows: Shows): boolean {
  const rows = valueAt(event, start, "rows");
  if (rows === undefined) {
    const found = objectName(event, start);
    return found !== undefined && shows(found.namespace, found.name);
  }
  let at = skipSpace(event, rows + 1);
  if (event[at] === closeBracket) return false;
  for (;;) {
    const found = rowName(event, at);
    if (found === undefined || !shows(found.namespace, found.name)) return false;
    at = skipSpace(event, endOfValue(event, at));
    if (event[at] !== comma) return true;
    at = skipSpace(event, at + 1);
  }
}
