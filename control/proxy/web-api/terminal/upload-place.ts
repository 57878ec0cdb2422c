import { randomUUID } from "node:crypto";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../../../core/sftp/attributes.ts";
import { extensionNames } from "../../../../core/sftp/numbers.ts";
import { realPath, statPath } from "../../../../core/sftp-client/sftp-calls.ts";
import { inside, parentOf } from "./host-path.ts";
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
  /** Of the folder, as base64url; goes before `folder`. */
  readonly bytes?: string | undefined;
  readonly name: string;
  readonly replace: boolean;
}

/** Throws `already_exists`, `invalid` for a name that is not one, and `not_found` without the folder. A link to a file is followed. */
export async function uploadPlace(files: HostFiles, { folder, bytes, name, replace }: Wish): Promise<UploadPlace> {
  const { client } = files;
  if (/[/\0]/.test(name) || name === "." || name === ".." || Buffer.byteLength(name) > 255)
    throw new PlatformError("invalid", "it is not a file name");
  const whole = await wholePath(files, { path: folder === "" ? undefined : folder, bytes });
  const there = await statPath(client, whole);
  if (there === undefined || kindOf(there) !== "folder") throw new PlatformError("not_found", `${whole.toString("utf8")} is not a folder`);
  const named = inside(whole, Buffer.from(name));
  const existing = await statPath(client, named);
  if (existing !== undefined) {
    if (kindOf(existing) !== "regular") throw new PlatformError("conflict", `something of this name exists that is not a file`);
    if (!replace) throw new PlatformError("already_exists", "a file of this name exists");
    if (!client.extensions.has(extensionNames.posixRename)) throw new PlatformError("unsupported", "the host cannot replace a file in one step");
  }
  const target = existing === undefined ? named : await realPath(client, named);
  return { target, temporary: inside(parentOf(target), Buffer.from(`.platform-upload-${randomUUID()}`)), existing };
}
