import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { FrameFormat } from "../frame-filter.ts";
import { documentAt } from "./bson-elements.ts";

/**
 * Messages of MongoDB (mongodb.com/docs/manual/reference/mongodb-wire-protocol), all numbers little-endian:
 *
 *     int32 length, itself included | int32 request id | int32 id of the request that this answers | int32 opcode | body
 *     OP_MSG 2013:   uint32 flags | section ... | uint32 CRC-32C if flag 0 is set
 *       section 0:   byte 0 | document                      (exactly one: the command, or its answer)
 *       section 1:   byte 1 | int32 size, itself included | name ... 0 | document ...
 *     OP_QUERY 2004: uint32 flags | namespace ... 0 | int32 skip | int32 return | document      (the first hello of a client)
 *     OP_REPLY 1:    uint32 flags | int64 cursor | int32 from | int32 documents | document ...  (the answer to it)
 */
export const opcode = { reply: 1, query: 2004, msg: 2013 } as const;

export const flag = {
  checksum: 1,
  /** No answer is awaited; in an answer: another one follows without a request. */
  moreToCome: 2,
  /** The client takes several answers. */
  exhaustAllowed: 1 << 16,
} as const;
/** Flags that must be known to be understood: a receiver refuses others of the lower half. */
const unknownFlags = 0xffff & ~(flag.checksum | flag.moreToCome);

/** Longest message that servers take, bytes; a longer one ends the connection there too. */
export const maxMessage = 48_000_000;
/** Longest command without its sequences: the longest document, and what servers allow around it, bytes. */
const maxCommand = 16 * 1024 * 1024 + 16 * 1024;
/** Longest OP_QUERY: no client sends anything but a hello that way. */
const maxQueryMessage = 64 * 1024;
/** Maximum documents of a sequence, as at the server, and maximum sequences of a message: commands have up to two. */
const maxBatch = 100_000;
const maxSequences = 8;
/** Bytes behind the command that its audit event may need. */
const keptOfSequences = 16_384;

export interface Header {
  readonly length: number;
  readonly requestId: number;
  readonly responseTo: number;
  readonly opcode: number;
}

export function readHeader(bytes: Buffer): Header {
  return { length: bytes.readInt32LE(0), requestId: bytes.readInt32LE(4), responseTo: bytes.readInt32LE(8), opcode: bytes.readInt32LE(12) };
}

/** Beginning of a client's message: up to the name of the command. No message of a client is shorter. */
const clientHeader = 36;
const commandType = 25;

/** Frames of a client. The whole command is kept, as its fields have no order. */
export const clientFrames: FrameFormat = {
  headerBytes: clientHeader,
  lengthOf: (header) => {
    const { length, opcode: code } = readHeader(header);
    if (code !== opcode.msg && code !== opcode.query)
      throw new PlatformError("invalid", `opcode ${code} is not supported`, { hint: "use a driver for MongoDB 4.0 or later" });
    const longest = code === opcode.msg ? maxMessage : maxQueryMessage;
    if (length < clientHeader || length > longest) throw new PlatformError("invalid", `a message of ${length} bytes is not allowed`);
    if (code === opcode.query) return length;
    const flags = header.readUInt32LE(16);
    if ((flags & unknownFlags) !== 0) throw new PlatformError("invalid", `flags ${flags.toString(16)} are not known`);
    if (header[20] === 0 && !isWithin(header.readInt32LE(21), length)) throw new PlatformError("invalid", "the length of a command is wrong");
    return length;
  },
  keep: (header) => {
    const { length, opcode: code } = readHeader(header);
    const isCut = code === opcode.msg && header[20] === 0 && !isBulkWrite(header);
    return (isCut ? Math.min(length, 21 + header.readInt32LE(21) + keptOfSequences) : length) - clientHeader;
  },
};

function isWithin(command: number, length: number): boolean {
  return command >= 5 && command <= Math.min(length - 21, maxCommand);
}

/** Its namespaces stand in a sequence. */
function isBulkWrite(header: Buffer): boolean {
  return header.toString("latin1", commandType + 1, clientHeader) === "bulkWrite\0";
}

/** Beginning of a server's message: up to its flags. */
export const serverHeader = 20;

/** Frames of a server; `keep` says how many bytes of each are read, header included. */
export function serverFrames(keep: (header: Header) => number): FrameFormat {
  return {
    headerBytes: serverHeader,
    lengthOf: (bytes) => {
      const { length, opcode: code } = readHeader(bytes);
      if (code !== opcode.msg && code !== opcode.reply) throw new PlatformError("invalid", `the database sent opcode ${code}`);
      if (length < 26 || length > 2 * maxMessage) throw new PlatformError("invalid", `the database sent a message of ${length} bytes`);
      return length;
    },
    keep: (bytes) => {
      const header = readHeader(bytes);
      return Math.max(0, Math.min(header.length, keep(header)) - serverHeader);
    },
  };
}

/** Documents that belong to a field of the command. */
export interface Sequence {
  readonly name: string;
  readonly documents: readonly Buffer[];
}

/** One command of a client. Its parts lie in the bytes it was read from. */
export interface Request {
  readonly requestId: number;
  readonly opcode: typeof opcode.query | typeof opcode.msg;
  readonly flags: number;
  readonly length: number;
  /** The message, or what was kept of it. */
  readonly message: Buffer;
  readonly command: Buffer;
  /** Those of which the beginning was there. */
  readonly sequences: readonly Sequence[];
  /** Whether all sections were there. */
  readonly isWhole: boolean;
  /** What an OP_QUERY asks: a collection `database.collection`, or for a command `database.$cmd`. Undefined: the request is an OP_MSG. */
  readonly namespace: string | undefined;
}

/** A message of a client, or the part of it that `clientFrames` keep; `length` is that of the whole message. Throws `invalid`. */
export function readRequest(message: Buffer, length: number): Request {
  const { requestId, opcode: code } = readHeader(message);
  const flags = message.readUInt32LE(16);
  if (code === opcode.msg) return { requestId, opcode: code, flags, length, message, namespace: undefined, ...readSections(message, flags, length) };
  const nameEnd = message.indexOf(0, 20);
  if (code !== opcode.query || nameEnd < 0 || nameEnd + 9 > message.length) throw new PlatformError("invalid", "a malformed OP_QUERY");
  const command = documentAt(message, nameEnd + 9);
  const namespace = message.toString("latin1", 20, nameEnd);
  return { requestId, opcode: code, flags, length, message, command, sequences: [], isWhole: true, namespace };
}

function readSections(message: Buffer, flags: number, length: number): Pick<Request, "command" | "sequences" | "isWhole"> {
  const end = length - ((flags & flag.checksum) === 0 ? 0 : 4);
  const sections = message.subarray(0, end);
  const sequences: Sequence[] = [];
  let command: Buffer | undefined;
  let at = 20;
  while (at < sections.length) {
    const kind = sections[at];
    if (kind === 0 && command === undefined) {
      command = documentAt(sections, at + 1);
      at += 1 + command.length;
    } else if (kind === 1) {
      if (at + 5 > sections.length) break;
      const size = sections.readInt32LE(at + 1);
      if (size < 5 || at + 1 + size > end) throw new PlatformError("invalid", "the length of a section is wrong");
      if (sequences.length === maxSequences) throw new PlatformError("invalid", `a message of more than ${maxSequences} document sequences`);
      sequences.push(readSequence(sections.subarray(at + 5, at + 1 + size), size - 4));
      at += 1 + size;
    } else throw new PlatformError("invalid", "the sections of a message are malformed");
  }
  if (command === undefined) throw new PlatformError("invalid", "a message without a command");
  return { command, sequences, isWhole: at === end && message.length >= end };
}

/** `bytes` may end before the whole `size` of it. */
function readSequence(bytes: Buffer, size: number): Sequence {
  const nameEnd = bytes.indexOf(0);
  if (nameEnd < 0) {
    if (bytes.length === size) throw new PlatformError("invalid", "the name of a section has no end");
    return { name: "", documents: [] };
  }
  const documents: Buffer[] = [];
  let at = nameEnd + 1;
  while (at < bytes.length) {
    const isCut = bytes.length < size && (at + 4 > bytes.length || bytes.readInt32LE(at) > bytes.length - at);
    if (isCut) break;
    const document = documentAt(bytes, at);
    if (documents.length === maxBatch) throw new PlatformError("invalid", `a sequence of more than ${maxBatch} documents`);
    documents.push(document);
    at += document.length;
  }
  return { name: bytes.toString("utf8", 0, nameEnd), documents };
}

/** A message with one document: a command, or the answer to one. */
export function opMsg(ids: { readonly requestId?: number; readonly responseTo?: number }, document: Buffer, flags = 0): Buffer {
  const body = Buffer.alloc(5);
  body.writeUInt32LE(flags & ~flag.checksum);
  return framed({ ...ids, opcode: opcode.msg }, [body, document]);
}

/** An answer in the form that the request asks for. */
export function answerTo({ requestId, opcode: code }: Pick<Request, "requestId" | "opcode">, document: Buffer): Buffer {
  if (code === opcode.msg) return opMsg({ responseTo: requestId }, document);
  const body = Buffer.alloc(20);
  // The server understands awaited data; one document.
  body.writeUInt32LE(8);
  body.writeInt32LE(1, 16);
  return framed({ responseTo: requestId, opcode: opcode.reply }, [body, document]);
}

/** Of an OP_QUERY: a secondary may answer. */
const secondaryOk = 4;

/**
 * The same request with another command in it, and without sequences. Nothing else of an OP_QUERY goes on: with the client's namespace, its document could be the
 * filter of a search.
 */
export function withCommand({ requestId, namespace, flags }: Request, command: Buffer): Buffer {
  if (namespace === undefined) return opMsg({ requestId }, command, flags);
  const [head, counts] = [Buffer.alloc(4), Buffer.alloc(8)];
  head.writeUInt32LE(flags & secondaryOk);
  // Nothing is skipped, and one document comes back.
  counts.writeInt32LE(-1, 4);
  return framed({ requestId, opcode: opcode.query }, [head, Buffer.from("admin.$cmd\0"), counts, command]);
}

/** A server's answer that has one document. Throws `invalid`. */
export function readAnswer(message: Buffer): { readonly header: Header; readonly flags: number; readonly document: Buffer } {
  const header = readHeader(message);
  const flags = message.readUInt32LE(16);
  if (header.opcode === opcode.msg && message[20] !== 0) throw new PlatformError("invalid", "an answer without a document");
  return { header, flags, document: documentAt(message, header.opcode === opcode.msg ? 21 : 36) };
}

/** The same answer with another document in it. */
export function withDocument(message: Buffer, document: Buffer): Buffer {
  const { requestId, responseTo, opcode: code } = readHeader(message);
  if (code === opcode.msg) return opMsg({ requestId, responseTo }, document, message.readUInt32LE(16));
  return framed({ requestId, responseTo, opcode: code }, [message.subarray(16, 36), document]);
}

function framed(header: { readonly requestId?: number; readonly responseTo?: number; readonly opcode: number }, body: readonly Buffer[]): Buffer {
  const start = Buffer.alloc(16);
  start.writeInt32LE(16 + body.reduce((length, part) => length + part.length, 0));
  start.writeInt32LE(header.requestId ?? 0, 4);
  start.writeInt32LE(header.responseTo ?? 0, 8);
  start.writeInt32LE(header.opcode, 12);
  return Buffer.concat([start, ...body]);
}
