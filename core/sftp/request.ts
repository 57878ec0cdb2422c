import { Reader, string, u8, u32, u64 } from "../bytes/fields.ts";
import { type Attributes, readAttributes, writeAttributes } from "./attributes.ts";
import { messageNumbers } from "./numbers.ts";
import { framed } from "./packet-buffer.ts";

/** Paths and names are bytes: a file system knows no character set. Buffers of a decoded request are views of its packet. */
export type Request = { readonly id: number } & Asked;
type Asked =
  | { readonly type: "open"; readonly path: Buffer; readonly flags: number; readonly attributes: Attributes }
  | { readonly type: "read"; readonly handle: Buffer; readonly offset: bigint; readonly length: number }
  | { readonly type: "write"; readonly handle: Buffer; readonly offset: bigint; readonly data: Buffer }
  | { readonly type: HandleType; readonly handle: Buffer }
  | { readonly type: PathType; readonly path: Buffer }
  | { readonly type: "setstat"; readonly path: Buffer; readonly attributes: Attributes }
  | { readonly type: "mkdir"; readonly path: Buffer; readonly attributes: Attributes }
  | { readonly type: "fsetstat"; readonly handle: Buffer; readonly attributes: Attributes }
  | { readonly type: "rename"; readonly path: Buffer; readonly target: Buffer }
  /** `target` is the link's content, `path` its location. OpenSSH sends them in this order, contrary to the draft; so do all others. */
  | { readonly type: "symlink"; readonly target: Buffer; readonly path: Buffer }
  | { readonly type: "extended"; readonly name: string; readonly data: Buffer }
  /** An unknown type, which is answered as unsupported. */
  | { readonly type: "unknown"; readonly number: number };
type HandleType = "close" | "fstat" | "readdir";
type PathType = "lstat" | "stat" | "opendir" | "remove" | "rmdir" | "realpath" | "readlink";
/** Fields that several requests share. */
export interface OfPath {
  readonly path: Buffer;
}
export interface OfHandle {
  readonly handle: Buffer;
}
export type RequestOf<Type extends "open" | "read" | "write" | "setstat" | "mkdir" | "fsetstat" | "rename" | "symlink" | "extended"> = Extract<
  Asked,
  { readonly type: Type }
>;

type Decode = (reader: Reader, id: number) => Request;

const byPath =
  (type: PathType): Decode =>
  (reader, id) => ({ type, id, path: reader.string() });
const byHandle =
  (type: HandleType): Decode =>
  (reader, id) => ({ type, id, handle: reader.string() });

const decoders: Readonly<Record<number, Decode>> = {
  [messageNumbers.open]: (reader, id) => ({ type: "open", id, path: reader.string(), flags: reader.u32(), attributes: readAttributes(reader) }),
  [messageNumbers.close]: byHandle("close"),
  [messageNumbers.read]: (reader, id) => ({ type: "read", id, handle: reader.string(), offset: reader.u64(), length: reader.u32() }),
  [messageNumbers.write]: (reader, id) => ({ type: "write", id, handle: reader.string(), offset: reader.u64(), data: reader.string() }),
  [messageNumbers.lstat]: byPath("lstat"),
  [messageNumbers.fstat]: byHandle("fstat"),
  [messageNumbers.setstat]: (reader, id) => ({ type: "setstat", id, path: reader.string(), attributes: readAttributes(reader) }),
  [messageNumbers.fsetstat]: (reader, id) => ({ type: "fsetstat", id, handle: reader.string(), attributes: readAttributes(reader) }),
  [messageNumbers.opendir]: byPath("opendir"),
  [messageNumbers.readdir]: byHandle("readdir"),
  [messageNumbers.remove]: byPath("remove"),
  [messageNumbers.mkdir]: (reader, id) => ({ type: "mkdir", id, path: reader.string(), attributes: readAttributes(reader) }),
  [messageNumbers.rmdir]: byPath("rmdir"),
  [messageNumbers.realpath]: byPath("realpath"),
  [messageNumbers.stat]: byPath("stat"),
  [messageNumbers.rename]: (reader, id) => ({ type: "rename", id, path: reader.string(), target: reader.string() }),
  [messageNumbers.readlink]: byPath("readlink"),
  [messageNumbers.symlink]: (reader, id) => ({ type: "symlink", id, target: reader.string(), path: reader.string() }),
  [messageNumbers.extended]: (reader, id) => ({ type: "extended", id, name: reader.text(), data: reader.take(reader.remaining) }),
};

/** A packet of a client after its `init`. Bytes after the last field are ignored, as in OpenSSH. Throws `invalid`. */
export function decodeRequest(packet: Buffer): Request {
  const reader = new Reader(packet);
  const number = reader.u8();
  const id = reader.u32();
  return decoders[number]?.(reader, id) ?? { type: "unknown", id, number };
}

/** The version of an `init` packet, or undefined for another packet. */
export function decodeInit(packet: Buffer): number | undefined {
  const reader = new Reader(packet);
  return reader.u8() === messageNumbers.init ? reader.u32() : undefined;
}

export function encodeInit(version: number): Buffer {
  return framed([u8(messageNumbers.init), u32(version)]);
}

/** With its length in front. */
export function encodeRequest(request: Exclude<Request, { type: "unknown" }>): Buffer {
  return framed([u8(messageNumbers[request.type]), u32(request.id), ...fieldsOf(request)]);
}

function fieldsOf(request: Exclude<Request, { type: "unknown" }>): Buffer[] {
  switch (request.type) {
    case "open":
      return [string(request.path), u32(request.flags), writeAttributes(request.attributes)];
    case "read":
      return [string(request.handle), u64(request.offset), u32(request.length)];
    case "write":
      return [string(request.handle), u64(request.offset), u32(request.data.length), request.data];
    case "close":
    case "fstat":
    case "readdir":
      return [string(request.handle)];
    case "setstat":
    case "mkdir":
      return [string(request.path), writeAttributes(request.attributes)];
    case "fsetstat":
      return [string(request.handle), writeAttributes(request.attributes)];
    case "rename":
      return [string(request.path), string(request.target)];
    case "symlink":
      return [string(request.target), string(request.path)];
    case "extended":
      return [string(request.name), request.data];
    case "lstat":
    case "stat":
    case "opendir":
    case "remove":
    case "rmdir":
    case "realpath":
    case "readlink":
      return [string(request.path)];
  }
}
