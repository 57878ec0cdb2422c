import { Reader } from "../../../core/bytes/fields.ts";
import { shownText } from "../../../core/bytes/shown-text.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { cappedValue, keptQueryBytes } from "../capped-text.ts";
import type { Frame, FrameFormat } from "../frame-filter.ts";
import { readCString } from "./c-string.ts";
import { type CappedParameters, readParameters } from "./message-parameters.ts";

/*
 * Messages of the client, after its startup packet: type, u32 length without the type, body.
 *
 *   Q text\0                                         P statement\0 text\0 u16 n, n × u32 type
 *   B portal\0 statement\0 parameters u16 n, n × u16 E portal\0 u32 rows
 *   C, D ('S' | 'P') name\0                          F u32 function, parameters, u16 format
 *   S, H, X, c nothing    d data    f text\0         p password
 */

/** A message that changes what the server knows by name, or runs something. */
export type ClientMessage =
  | { readonly kind: "query"; readonly text: Buffer; readonly length: number }
  | { readonly kind: "parse"; readonly statement: string; readonly text: Buffer; readonly length: number }
  | ({ readonly kind: "bind"; readonly portal: string; readonly statement: string } & CappedParameters)
  | { readonly kind: "execute"; readonly portal: string }
  | { readonly kind: "close"; readonly what: "statement" | "portal"; readonly name: string }
  | ({ readonly kind: "function"; readonly oid: number } & CappedParameters)
  | { readonly kind: "describe" | "sync" | "copyEnd" | "other" };

/** Maximum length of a message, and of one that the server reads into a small buffer. */
const maxLong = 0x3fff_fffe;
const maxSmall = 10_000;
/** Length of a message without a body; with one, the server would skip up to the next Sync. */
const bare = 4;
/** Kept for the names in front of a text or of parameters. */
const keptNameBytes = 1_024;
const keptParameterBytes = 32_768;

/** Longest length and kept bytes of each message that a client may send in a session. */
const types: ReadonlyMap<number, { readonly max: number; readonly keep: number }> = new Map(
  (
    [
      ["Q", maxLong, keptQueryBytes + 1],
      ["P", maxLong, keptNameBytes + keptQueryBytes + 2],
      ["B", maxLong, keptParameterBytes],
      ["F", maxLong, keptParameterBytes],
      ["E", maxSmall, maxSmall],
      ["C", maxSmall, maxSmall],
      ["D", maxSmall, 0],
      ["S", bare, 0],
      ["H", bare, 0],
      ["X", maxSmall, 0],
      ["d", maxLong, 0],
      ["c", maxSmall, 0],
      ["f", maxSmall, 0],
    ] as const
  ).map(([type, max, keep]) => [type.charCodeAt(0), { max, keep }]),
);

export const clientFormat: FrameFormat = {
  headerBytes: 5,
  lengthOf: (header) => {
    const type = header[0] ?? 0;
    const known = types.get(type);
    if (known === undefined) throw new PlatformError("invalid", unknownType(type));
    const length = header.readUInt32BE(1);
    if (length < 4 || length > known.max) {
      throw new PlatformError("invalid", `the client sent a message ${shownType(type)} that announces ${length} bytes`);
    }
    return 1 + length;
  },
  keep: (header) => types.get(header[0] ?? 0)?.keep ?? 0,
};

function shownType(type: number): string {
  return JSON.stringify(String.fromCharCode(type));
}

function unknownType(type: number): string {
  if (type === 0x70) return "the client sent a password; the server did not ask for one";
  return `the client sent a message of the type ${shownType(type)}, which does not exist here`;
}

/** Reads a message of `clientFormat`, or as much as was kept of it. Throws PlatformError `invalid`. */
export function decodeClientMessage(frame: Frame): ClientMessage {
  try {
    return readMessage(frame);
  } catch (cause) {
    const type = shownType(frame.header[0] ?? 0);
    throw new PlatformError("invalid", `the client sent a message ${type} that cannot be read: ${errorText(cause)}`, { cause });
  }
}

function readMessage({ header, body, length }: Frame): ClientMessage {
  const bodyLength = length - header.length;
  const reader = new Reader(body);
  switch (String.fromCharCode(header[0] ?? 0)) {
    case "Q":
      return { kind: "query", ...readQuery(reader, bodyLength) };
    case "P":
      return { kind: "parse", statement: readName(reader), ...readQuery(reader, bodyLength - reader.position) };
    case "B":
      return { kind: "bind", portal: readName(reader), statement: readName(reader), ...readParameters(reader, bodyLength) };
    case "E":
      return { kind: "execute", portal: readName(reader) };
    case "C":
      return readClose(reader);
    case "F":
      return { kind: "function", oid: reader.u32(), ...readParameters(reader, bodyLength) };
    case "D":
      return { kind: "describe" };
    case "S":
      return { kind: "sync" };
    case "c":
    case "f":
      return { kind: "copyEnd" };
    default:
      return { kind: "other" };
  }
}

/** Text up to its zero byte, or up to the end of what was kept. Its whole length is known in the latter case too, as what follows it is short. */
function readQuery(reader: Reader, length: number): { readonly text: Buffer; readonly length: number } {
  const rest = reader.bytes.subarray(reader.position);
  const end = rest.indexOf(0);
  if (end >= 0) return { text: rest.subarray(0, end), length: end };
  if (rest.length === length) throw new PlatformError("invalid", "its text has no end");
  return { text: rest, length: length - 1 };
}

/** As much of a name as an event shows. */
function readName(reader: Reader): string {
  return cappedValue(shownText(readCString(reader).subarray(0, keptNameBytes)));
}

function readClose(reader: Reader): ClientMessage {
  const what = reader.u8();
  if (what !== 0x53 && what !== 0x50) throw new PlatformError("invalid", `it closes something of the kind ${what}`);
  return { kind: "close", what: what === 0x53 ? "statement" : "portal", name: readName(reader) };
}
