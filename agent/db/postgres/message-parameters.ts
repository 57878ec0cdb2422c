import type { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { cappedValue } from "../capped-text.ts";

/*
 * Parameters of Bind and FunctionCall:
 *
 *   u16 n, n × u16 format (0 text, 1 binary; one for all, or one for each)
 *   u16 n, n × (i32 length, bytes); -1 is NULL
 */

export interface CappedParameters {
  /** Text, base64 of binary ones, or null; the first ones, each of them cut. */
  readonly parameters: readonly (string | null)[];
  /** Of all of them. */
  readonly count: number;
}

/** Bytes of a value that are kept for its text in an event: more than fit, so that a longer text is marked as truncated. */
const neededBytes = { text: 1_024, binary: 300 } as const;

/**
 * Reads them from the beginning of a body of this length, as far as it was kept; the others are only counted. Throws PlatformError `invalid` for impossible
 * lengths.
 */
export function readParameters(reader: Reader, bodyLength: number): CappedParameters {
  const formatCount = u16(reader);
  // As many formats as that are those of single parameters.
  if (reader.remaining < formatCount * 2 + 2 && reader.bytes.length < bodyLength) return { parameters: [], count: formatCount };
  const formats = Array.from({ length: formatCount }, () => u16(reader));
  const count = u16(reader);
  if (formatCount > 1 && formatCount !== count) {
    throw new PlatformError("invalid", `${formatCount} formats for ${count} parameters`);
  }
  const parameters: (string | null)[] = [];
  while (parameters.length < Math.min(count, maxParameters)) {
    const isBinary = formats[formatCount === 1 ? 0 : parameters.length] === 1;
    const parameter = readParameter(reader, bodyLength, isBinary);
    if (parameter === undefined) break;
    parameters.push(parameter);
  }
  return { parameters, count };
}

/** Undefined: too little of it was kept. */
function readParameter(reader: Reader, bodyLength: number, isBinary: boolean): string | null | undefined {
  const isWhole = reader.bytes.length === bodyLength;
  if (!isWhole && reader.remaining < 4) return undefined;
  const length = reader.u32() | 0;
  if (length === -1) return null;
  if (length < 0 || length > bodyLength - reader.position) throw new PlatformError("invalid", `a parameter of ${length} bytes`);
  const needed = Math.min(length, isBinary ? neededBytes.binary : neededBytes.text);
  if (reader.remaining < needed) return undefined;
  const bytes = reader.take(Math.min(length, reader.remaining)).subarray(0, needed);
  return cappedValue(bytes.toString(isBinary ? "base64" : "utf8"));
}

function u16(reader: Reader): number {
  return reader.take(2).readUInt16BE(0);
}
