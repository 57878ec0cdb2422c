import { randomUUID } from "node:crypto";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../../../core/sftp/attributes.ts";
import { extensionNames } from "../../../../core/sftp/numbers.ts";
import { realPath, statPath } from "../../../../core/sftp-client/sftp-calls.ts";
import { type HostFiles, wholePath } from "./open-files.ts";

/** Where an upload goes. */
export interface UploadPlace {
  readonly target: Buffer;
  /** A name in the folder of the target, for as long as bytes are missing. */
  readonly temporary: Buffer;
  /** The file that is replaced. */
  readonly existing: Attributes | undefined;
}

interface Wish {
  readonly folder: string;
  readonly name: string;
  readonly replace: boolean;
}

/** Throws `already_exists`, `invalid` for a name that is not one, and `not_found` without the folder. A link to a file is followed. */
export async function uploadPlace(files: HostFiles, { folder, name, replace }: Wish): Promise<UploadPlace> {
  const { client } = files;
  if (/[/\0]/.test(name) || name === "." || name === ".." || Buffer.byteLength(name) > 255)
    throw new PlatformError("invalid", "it is not a file name");
  const whole = await wholePath(files, folder === "" ? "." : folder);
  const there = await statPath(client, whole);
  if (there === undefined || kindOf(there) !== "folder") throw new PlatformError("not_found", `${whole.toString("utf8")} is not a folder`);
  const named = inside(whole, name);
  const existing = await statPath(client, named);
  if (existing !== undefined) {
    if (kindOf(existing) !== "regular") throw new PlatformError("conflict", `something of this name exists that is not a file`);
    if (!replace) throw new PlatformError("already_exists", "a file of this name exists");
    if (!client.extensions.has(extensionNames.posixRename)) throw new PlatformError("unsupported", "the host cannot replace a file in one step");
  }
  const target = existing === undefined ? named : await realPath(client, named);
  return { target, temporary: inside(parentOf(target), `.platform-upload-${randomUUID()}`), existing };
}

const slash = 0x2f;

function inside(folder: Buffer, name: string): Buffer {
  const isRoot = folder.length === 1 && folder[0] === slash;
  return Buffer.concat([folder, Buffer.from(isRoot ? name : `/${name}`)]);
}

/** Of an absolute path. */
function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(slash), 1));
}
