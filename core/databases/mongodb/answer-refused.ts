import { PlatformError } from "../../errors/platform-error.ts";
import { encodeDocument, firstFieldName } from "./bson-document.ts";
import { errorDocument } from "./error-document.ts";

/*
 * Messages of MongoDB, numbers little-endian: `i32 length, itself included | i32 request id | i32 answered id | i32 opcode | body`
 *
 *   OP_QUERY 2004   u32 flags | namespace 0 | i32 skip | i32 return | document      the first hello of a client
 *   OP_REPLY 1      u32 flags | i64 cursor | i32 from | i32 documents | document    the answer to it
 *   OP_MSG 2013     u32 flags | section…; 0 | document is the command, or its answer
 */
const opcode = { reply: 1, query: 2004, msg: 2013 } as const;
const headerLength = 16;
/** Longest message of a client that is refused: a hello, or a first command. */
const maxLength = 65_536;

/** Length of the message that begins these bytes; undefined: not known yet. Throws `invalid`. Pure. */
export function lengthOfMessage(bytes: Buffer): number | undefined {
  if (bytes.length < headerLength) return undefined;
  const [length, code] = [bytes.readInt32LE(0), bytes.readInt32LE(12)];
  if (code !== opcode.query && code !== opcode.msg) throw new PlatformError("invalid", `opcode ${code} is not supported`);
  if (length <= headerLength || length > maxLength) throw new PlatformError("invalid", `a message of ${length} bytes is not allowed here`);
  return length;
}

export interface RefusedAnswer {
  readonly answer: Buffer;
  /** Whether it is the refusal; otherwise the client goes on to its first command. */
  readonly isLast: boolean;
}

/** The answer to a message of a refused client: its hello as a server would, a command with the reason. Never throws. Pure but for the time in it. */
export function answerRefused(message: Buffer, error: PlatformError): RefusedAnswer {
  const isQuery = message.readInt32LE(12) === opcode.query;
  const isHello = ["hello", "ismaster", "isMaster"].includes(commandOf(message, isQuery));
  const document = isHello ? helloAnswer(new Date()) : errorDocument(error);
  return { answer: reply(message.readInt32LE(4), isQuery, document), isLast: !isHello };
}

/** The name of the command; empty for what cannot be read. */
function commandOf(message: Buffer, isQuery: boolean): string {
  if (!isQuery) return firstFieldName(message.subarray(headerLength + 4 + 1));
  const end = message.indexOf(0, headerLength + 4);
  return end < 0 ? "" : firstFieldName(message.subarray(end + 1 + 8));
}

function reply(answered: number, isQuery: boolean, document: Buffer): Buffer {
  const body = isQuery ? Buffer.concat([Buffer.alloc(16), Buffer.of(1, 0, 0, 0), document]) : Buffer.concat([Buffer.alloc(5), document]);
  const header = Buffer.alloc(headerLength);
  header.writeInt32LE(headerLength + body.length, 0);
  header.writeInt32LE(answered, 8);
  header.writeInt32LE(isQuery ? opcode.reply : opcode.msg, 12);
  return Buffer.concat([header, body]);
}

function helloAnswer(localTime: Date): Buffer {
  const sizes = { maxBsonObjectSize: 16 * 1024 * 1024, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 };
  const versions = { minWireVersion: 0, maxWireVersion: 21 };
  return encodeDocument({ helloOk: true, isWritablePrimary: true, ismaster: true, ...sizes, localTime, ...versions, readOnly: false, ok: 1 });
}
