import { objectName, rowName } from "./object-name.ts";
import { isSpace, malformed, membersOf } from "./scan-json.ts";
import { ValueReader } from "./value-reader.ts";

/** Whether an object may be shown; `namespace` is empty for one in none. */
export type Shows = (namespace: string, name: string) => boolean;

/** Maximum sizes, bytes: of an object, and of anything else in a list. */
const most = { object: 16 * 1024 * 1024, other: 1024 * 1024 } as const;

/** Members of a list. Any other could hold objects that were not judged. */
const known = ["kind", "apiVersion", "metadata", "columnDefinitions"];
const bytesOf = (text: string): number => text.charCodeAt(0);
const [openBrace, closeBrace, openBracket, closeBracket, comma, colon, quote] = [...'{}[],:"'].map(bytesOf);

/** What comes next in a list's JSON. */
type Place = "list" | "first member" | "member" | "colon" | "value" | "after value" | "first object" | "object" | "after object" | "end";

/**
 * Filters a list's JSON: its items, or its rows when it is a table. Bytes in, bytes out, whatever the chunks; one object at a time is kept. An object that
 * cannot be named is left out, and the number of further ones is removed from the list's metadata. Throws PlatformError for what is not a list.
 */
export class ListFilter {
  readonly #shows: Shows;
  readonly #other = new ValueReader(most.other);
  readonly #object = new ValueReader(most.object);
  #place: Place = "list";
  #key = "";
  #count = 0;
  #members = 0;

  constructor(shows: Shows) {
    this.#shows = shows;
  }

  /** What may be shown of the list after this chunk. */
  write(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) at = this.#step(chunk, at, out);
    return out.length === 1 && out[0] !== undefined ? out[0] : Buffer.concat(out);
  }

  /** Throws `invalid` for a list that was cut off. */
  end(): void {
    if (this.#place !== "end") throw malformed("is cut off");
  }

  #step(chunk: Buffer, start: number, out: Buffer[]): number {
    if (this.#other.isOpen) return this.#readMember(chunk, start, out);
    if (this.#object.isOpen) return this.#readObject(chunk, start, out);
    const byte = chunk[start];
    if (isSpace(byte)) return start + 1;
    switch (this.#place) {
      case "list":
        return this.#go(byte === openBrace, { to: "first member", text: "{", out, next: start + 1 });
      case "first member":
      case "member":
        if (byte === closeBrace && this.#place === "first member") return this.#go(true, { to: "end", text: "}", out, next: start + 1 });
        if (byte !== quote) throw malformed("has a member without a name");
        return this.#readMember(chunk, start, out);
      case "colon":
        return this.#go(byte === colon, { to: "value", text: "", out, next: start + 1 });
      case "value":
        if (this.#holdsObjects() && byte === openBracket) return this.#go(true, { to: "first object", text: "[", out, next: start + 1 });
        return this.#readMember(chunk, start, out);
      case "after value":
        if (byte === closeBrace) return this.#go(true, { to: "end", text: "}", out, next: start + 1 });
        return this.#go(byte === comma, { to: "member", text: "", out, next: start + 1 });
      case "first object":
        if (byte === closeBracket) return this.#go(true, { to: "after value", text: "]", out, next: start + 1 });
        this.#count = 0;
        return this.#readObject(chunk, start, out);
      case "object":
        return this.#readObject(chunk, start, out);
      case "after object":
        if (byte === closeBracket) return this.#go(true, { to: "after value", text: "]", out, next: start + 1 });
        return this.#go(byte === comma, { to: "object", text: "", out, next: start + 1 });
      case "end":
        throw malformed("goes on after its end");
    }
  }

  #go(isRight: boolean, { to, text, out, next }: { to: Place; text: string; out: Buffer[]; next: number }): number {
    if (!isRight) throw malformed("is not that of a list");
    if (text !== "") out.push(Buffer.from(text));
    this.#place = to;
    return next;
  }

  #holdsObjects(): boolean {
    return this.#key === "items" || this.#key === "rows";
  }

  /** A member's name, or its value if it does not hold the objects. */
  #readMember(chunk: Buffer, start: number, out: Buffer[]): number {
    const { at, whole } = this.#other.read(chunk, start);
    if (whole === undefined) return at;
    if (whole.length === 0) throw malformed("has a member without a value");
    if (this.#place === "value") {
      if (this.#holdsObjects() && whole.toString("latin1") !== "null") throw malformed("has something else in place of its objects");
      out.push(this.#key === "metadata" ? withoutCount(whole) : whole);
      this.#place = "after value";
      return at;
    }
    this.#key = whole.toString("latin1", 1, whole.length - 1);
    if (!known.includes(this.#key) && !this.#holdsObjects()) throw malformed(`is not that of a list: it has the member ${this.#key.slice(0, 64)}`);
    out.push(Buffer.from(`${this.#members === 0 ? "" : ","}"${this.#key}":`));
    this.#members += 1;
    this.#place = "colon";
    return at;
  }

  #readObject(chunk: Buffer, start: number, out: Buffer[]): number {
    if (!this.#object.isOpen && chunk[start] !== openBrace) throw malformed("has something else in place of an object");
    const { at, whole } = this.#object.read(chunk, start);
    if (whole === undefined) return at;
    this.#place = "after object";
    const found = this.#key === "rows" ? rowName(whole) : objectName(whole);
    if (found === undefined || !this.#shows(found.namespace, found.name)) return at;
    if (this.#count > 0) out.push(Buffer.from(","));
    this.#count += 1;
    out.push(whole);
    return at;
  }
}

/** A list's metadata without the number of objects that are not in it yet. */
function withoutCount(metadata: Buffer): Buffer {
  if (metadata[0] !== openBrace) return metadata;
  const kept = [...membersOf(metadata, 0)].filter(({ key }) => key !== "remainingItemCount");
  return Buffer.from(`{${kept.map(({ key, start, end }) => `"${key}":${metadata.toString("utf8", start, end)}`).join(",")}}`);
}
