import { cutText } from "../bytes/cut-text.ts";
import { Reader, string, u64 } from "../bytes/fields.ts";
import { type ErrorCode, PlatformError } from "../errors/platform-error.ts";
import type { Attributes } from "../sftp/attributes.ts";
import { extensionNames, type Status } from "../sftp/numbers.ts";
import type { NamedFile, Response } from "../sftp/response.ts";
import type { Ask, SftpClient } from "./sftp-client.ts";

const codes: Partial<Record<Status, ErrorCode>> = {
  no_such_file: "not_found",
  permission_denied: "denied",
  bad_message: "invalid",
  unsupported: "unsupported",
  connection_lost: "unavailable",
  no_connection: "unavailable",
};
const words: Partial<Record<Status, string>> = {
  no_such_file: "No such file or directory",
  permission_denied: "Permission denied",
  unsupported: "The server does not support this",
};

/** Most of a server's text in an error, characters. */
const mostText = 1_000;

/** A server's refusal as an error. The code `failure` has no meaning of its own: the text has. */
export function failureOf(response: Response): PlatformError {
  if (response.type !== "status") return new PlatformError("unavailable", `the SFTP server answered with ${response.type}`);
  const { status, message } = response;
  return new PlatformError(codes[status] ?? "conflict", message === "" ? (words[status] ?? "Failure") : cutText(message, mostText));
}

async function askFor<Type extends Response["type"]>(client: SftpClient, request: Ask, type: Type): Promise<Extract<Response, { type: Type }>> {
  const response = await client.ask(request);
  if (response.type !== type) throw failureOf(response);
  return response as Extract<Response, { type: Type }>;
}

async function done(client: SftpClient, request: Ask): Promise<void> {
  const response = await client.ask(request);
  if (response.type !== "status" || response.status !== "ok") throw failureOf(response);
}

export async function openFile(
  client: SftpClient,
  path: Buffer,
  { flags, attributes = {} }: { flags: number; attributes?: Attributes },
): Promise<Buffer> {
  return (await askFor(client, { type: "open", path, flags, attributes }, "handle")).handle;
}

export async function closeHandle(client: SftpClient, handle: Buffer): Promise<void> {
  await done(client, { type: "close", handle });
}

/** Follows links; undefined when the path does not exist. */
export async function statPath(client: SftpClient, path: Buffer): Promise<Attributes | undefined> {
  const response = await client.ask({ type: "stat", path });
  if (response.type === "status" && response.status === "no_such_file") return undefined;
  if (response.type !== "attributes") throw failureOf(response);
  return response.attributes;
}

export async function setOpenFile(client: SftpClient, handle: Buffer, attributes: Attributes): Promise<void> {
  await done(client, { type: "fsetstat", handle, attributes });
}

export async function setPath(client: SftpClient, path: Buffer, attributes: Attributes): Promise<void> {
  await done(client, { type: "setstat", path, attributes });
}

export async function makeFolder(client: SftpClient, path: Buffer, mode: number): Promise<void> {
  await done(client, { type: "mkdir", path, attributes: { mode } });
}

/** `~` and `~user` are resolved by the server. */
export async function expandPath(client: SftpClient, path: Buffer): Promise<Buffer> {
  const request: Ask = { type: "extended", name: extensionNames.expandPath, data: string(path) };
  return onlyName(await askFor(client, request, "name"));
}

function onlyName({ files }: { readonly files: readonly NamedFile[] }): Buffer {
  const [first] = files;
  if (first === undefined) throw new PlatformError("unavailable", "the SFTP server returned no name");
  return first.name;
}

/** Maximum number of names in one folder: a server could send names without end. */
const maxNames = 5_000_000;

/** Names and attributes in a folder, without `.` and `..`. A name that would lead elsewhere is refused. */
export async function* listFolder(client: SftpClient, path: Buffer): AsyncGenerator<NamedFile> {
  yield* listOpened(client, await openFolder(client, path));
}

/** Handle for `listOpened`. */
export async function openFolder(client: SftpClient, path: Buffer): Promise<Buffer> {
  return (await askFor(client, { type: "opendir", path }, "handle")).handle;
}

/** The same as `listFolder`, of an open folder, which is then closed. */
export async function* listOpened(client: SftpClient, handle: Buffer): AsyncGenerator<NamedFile> {
  try {
    for (let count = 0; count < maxNames; ) {
      const response = await client.ask({ type: "readdir", handle });
      if (response.type === "status" && response.status === "end_of_file") return;
      if (response.type !== "name") throw failureOf(response);
      count += response.files.length + 1;
      yield* response.files.filter(({ name }) => !isDots(name)).map(checked);
    }
    throw new PlatformError("limit", `more than ${maxNames} names in one folder`);
  } finally {
    await closeHandle(client, handle).catch(() => {});
  }
}

function isDots(name: Buffer): boolean {
  return name.equals(Buffer.from(".")) || name.equals(Buffer.from(".."));
}

function checked(file: NamedFile): NamedFile {
  if (file.name.length > 0 && !file.name.includes(0x2f) && !file.name.includes(0)) return file;
  throw new PlatformError("invalid", `the server listed an invalid file name: ${JSON.stringify(cutText(file.name.toString(), mostText))}`);
}

/** SHA-256 of the first `length` bytes of an open file; undefined when it is shorter. Only for a server that announces it. */
export async function hashStart(client: SftpClient, handle: Buffer, length: number): Promise<Buffer | undefined> {
  const data = Buffer.concat([string(handle), u64(0), u64(length)]);
  const response = await askFor(client, { type: "extended", name: extensionNames.sha256, data }, "extended_reply");
  const reader = new Reader(response.data);
  const digest = reader.string();
  return reader.u64() === BigInt(length) ? digest : undefined;
}

/** The absolute path without links; the last part need not exist. */
export async function realPath(client: SftpClient, path: Buffer): Promise<Buffer> {
  return onlyName(await askFor(client, { type: "realpath", path }, "name"));
}

export async function statHandle(client: SftpClient, handle: Buffer): Promise<Attributes> {
  return (await askFor(client, { type: "fstat", handle }, "attributes")).attributes;
}

export async function removeFile(client: SftpClient, path: Buffer): Promise<void> {
  await done(client, { type: "remove", path });
}

/** Moves a file. Without `replace`, an existing target is refused; with it, the server must know posix-rename@openssh.com. */
export async function renameFile(
  client: SftpClient,
  { path, target, replace }: { readonly path: Buffer; readonly target: Buffer; readonly replace: boolean },
): Promise<void> {
  if (!replace) await done(client, { type: "rename", path, target });
  else await done(client, { type: "extended", name: extensionNames.posixRename, data: Buffer.concat([string(path), string(target)]) });
}

/** Waits until a file's bytes are on the disk, if the server can. */
export async function syncHandle(client: SftpClient, handle: Buffer): Promise<void> {
  if (client.extensions.has(extensionNames.fsync)) await done(client, { type: "extended", name: extensionNames.fsync, data: string(handle) });
}
