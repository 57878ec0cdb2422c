import { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { cappedValue } from "../capped-text.ts";
import { lenenc, lenencBytes, u16 } from "./wire.ts";

/** Type of a parameter: its number; the highest bit for unsigned integers. */
export type ValueType = number;

const unsigned = 0x8000;
/** Bytes and characters of a value that are looked at for its text, which is shorter. */
const maxShown = 1_024;
const maxCharacters = 260;

/**
 * Reads a parameter of a prepared statement and returns its text: text that is UTF-8 as it is, other bytes in base64. Throws PlatformError `invalid`
 * for a type that no client sends, as servers do not agree on its length, and where the bytes end too early.
 */
export function readValue(reader: Reader, type: ValueType): string {
  const isUnsigned = (type & unsigned) !== 0;
  const number = type & ~unsigned;
  switch (number) {
    case 0x01:
      return integer(reader, 1, isUnsigned);
    case 0x02:
      return integer(reader, 2, isUnsigned);
    case 0x03:
      return integer(reader, 4, isUnsigned);
    case 0x08: {
      const bytes = reader.take(8);
      return String(isUnsigned ? bytes.readBigUInt64LE() : bytes.readBigInt64LE());
    }
    case 0x04:
      return String(reader.take(4).readFloatLE());
    case 0x05:
      return String(reader.take(8).readDoubleLE());
    case 0x07:
    case 0x0a:
    case 0x0c:
      return dateText(new Reader(lenencBytes(reader)));
    case 0x0b:
      return timeText(new Reader(lenencBytes(reader)));
    default:
      return bytesText(reader, number);
  }
}

function integer(reader: Reader, length: number, isUnsigned: boolean): string {
  const bytes = reader.take(length);
  return String(isUnsigned ? bytes.readUIntLE(0, length) : bytes.readIntLE(0, length));
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** `year u16 | month | day`, `hour | minute | second`, `microseconds u32`: as many of the three as its value needs. */
function dateText(value: Reader): string {
  if (value.done) return "0000-00-00";
  const day = `${String(u16(value)).padStart(4, "0")}-${two(value.u8())}-${two(value.u8())}`;
  if (value.done) return day;
  return `${day} ${clock(value, value.u8())}`;
}

/** `negative u8 | days u32 | hour | minute | second | microseconds u32`. */
function timeText(value: Reader): string {
  if (value.done) return "00:00:00";
  const sign = value.u8() === 0 ? "" : "-";
  const days = value.take(4).readUInt32LE();
  return sign + clock(value, value.u8() + days * 24);
}

function clock(value: Reader, hours: number): string {
  const text = `${two(hours)}:${two(value.u8())}:${two(value.u8())}`;
  return value.done ? text : `${text}.${String(value.take(4).readUInt32LE()).padStart(6, "0")}`;
}

/** Decimals, texts, bits; vectors, JSON, decimals, enumerations, sets, blobs, texts, geometries. */
const ofBytes = new Set([0x00, 0x0f, 0x10, 0xf2, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff]);

/** A length, then the bytes. Of the last one only the beginning may be here. */
function bytesText(reader: Reader, type: number): string {
  if (!ofBytes.has(type)) throw new PlatformError("invalid", `a parameter has the type ${type}, which clients do not send`);
  const length = lenenc(reader);
  const shown = reader.bytes.subarray(reader.position, reader.position + Math.min(length, maxShown));
  const cut = length > maxShown;
  const asText = shown.toString("utf8").replace(cut ? /\uFFFD+$/ : "", "");
  const text = cappedValue((asText.includes("\uFFFD") ? shown.toString("base64") : asText).slice(0, maxCharacters));
  reader.take(Math.min(length, reader.remaining));
  return text;
}
