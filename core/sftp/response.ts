import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { type Attributes, readAttributes, writeAttributes } from "./attributes.ts";
import { messageNumbers, type Status, sftpVersion, statusNumbers } from "./numbers.ts";
import { framed } from "./packet-buffer.ts";

export interface NamedFile {
  readonly name: Buffer;
  /** In the form of `ls -l`. */
  readonly longName: Buffer;
  readonly attributes: Attributes;
}

/** Buffers of a decoded response are views of its packet. */
export type Response = { readonly id: number } & (
  | { readonly type: "status"; readonly status: Status; readonly message: string }
  | { readonly type: "handle"; readonly handle: Buffer }
  | { readonly type: "data"; readonly data: Buffer }
  | { readonly type: "name"; readonly files: readonly NamedFile[] }
  | { readonly type: "attributes"; readonly attributes: Attributes }
  | { readonly type: "extended_reply"; readonly data: Buffer }
);

const statuses = new Map<number, Status>(Object.entries(statusNumbers).map(([name, number]) => [number, name as Status]));

/** With its length in front. */
export function encodeResponse(response: Response): Buffer {
  return framed([u8(messageNumbers[response.type]), u32(response.id), ...fieldsOf(response)]);
}

function fieldsOf(response: Response): Buffer[] {
  switch (response.type) {
    case "status":
      // The last string is a language tag.
      return [u32(statusNumbers[response.status]), string(response.message), string("")];
    case "handle":
      return [string(response.handle)];
    case "data":
      return [u32(response.data.length), response.data];
    case "name":
      return [
        u32(response.files.length),
        ...response.files.flatMap(({ name, longName, attributes }) => [string(name), string(longName), writeAttributes(attributes)]),
      ];
    case "attributes":
      return [writeAttributes(response.attributes)];
    case "extended_reply":
      return [response.data];
  }
}

/** A server's packet after its `version`. Throws `invalid`, also for an unknown type: we sent nothing that it could answer. */
export function decodeResponse(packet: Buffer): Response {
  const reader = new Reader(packet);
  const number = reader.u8();
  const id = reader.u32();
  switch (number) {
    case messageNumbers.status: {
      const status = statuses.get(reader.u32()) ?? "failure";
      // Servers before version 3 omit the text; one that is not UTF-8 is shown as far as possible.
      return { type: "status", id, status, message: reader.done ? "" : reader.string().toString("utf8") };
    }
    case messageNumbers.handle:
      return { type: "handle", id, handle: handleOf(reader) };
    case messageNumbers.data:
      return { type: "data", id, data: reader.string() };
    case messageNumbers.name:
      return { type: "name", id, files: readFiles(reader) };
    case messageNumbers.attributes:
      return { type: "attributes", id, attributes: readAttributes(reader) };
    case messageNumbers.extended_reply:
      return { type: "extended_reply", id, data: reader.take(reader.remaining) };
    default:
      throw new PlatformError("invalid", `the SFTP server sent a message of type ${number}`);
  }
}

/** Longest handle, bytes (draft, section 6.2). */
const maxHandle = 256;

function handleOf(reader: Reader): Buffer {
  const handle = reader.string();
  if (handle.length > maxHandle) throw new PlatformError("invalid", `a handle of ${handle.length} bytes; ${maxHandle} are allowed`);
  return handle;
}

function readFiles(reader: Reader): NamedFile[] {
  const count = reader.u32();
  const files: NamedFile[] = [];
  // Each takes at least 12 bytes, so a wrong count ends at the packet's end.
  for (let index = 0; index < count; index += 1) {
    files.push({ name: reader.string(), longName: reader.string(), attributes: readAttributes(reader) });
  }
  return files;
}

/** The server's first packet: its extensions to version 3, by name. */
export function encodeVersion(extensions: ReadonlyMap<string, string>): Buffer {
  const pairs = [...extensions].flatMap(([name, data]) => [string(name), string(data)]);
  return framed([u8(messageNumbers.version), u32(sftpVersion), ...pairs]);
}

/** Throws `invalid` for another packet, `unsupported` for another version. */
export function decodeVersion(packet: Buffer): Map<string, string> {
  const reader = new Reader(packet);
  if (reader.u8() !== messageNumbers.version) throw new PlatformError("invalid", "the SFTP server did not begin with its version");
  const version = reader.u32();
  if (version !== sftpVersion)
    throw new PlatformError("unsupported", `the SFTP server speaks version ${version}, but only version ${sftpVersion} is supported`);
  const extensions = new Map<string, string>();
  while (!reader.done) extensions.set(reader.string().toString("latin1"), reader.string().toString("latin1"));
  return extensions;
}
