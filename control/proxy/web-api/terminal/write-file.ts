import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Attributes } from "../../../../core/sftp/attributes.ts";
import { openFlags } from "../../../../core/sftp/numbers.ts";
import {
  closeHandle,
  failureOf,
  openFile,
  removeFile,
  renameFile,
  setOpenFile,
  statHandle,
  syncHandle,
} from "../../../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../../../core/sftp-client/sftp-client.ts";
import type { UploadPlace } from "./upload-place.ts";

/** Permissions, without the kind of file. */
const permissions = 0o7777;

/**
 * A file that comes in pieces. It has a temporary name until `store` gives it its own in one step, so that a part of it is never taken for the whole; `drop`
 * removes it. All methods throw PlatformError.
 */
export class IncomingFile {
  readonly #client: SftpClient;
  readonly #place: UploadPlace;
  readonly #handle: Buffer;
  #offset = 0;
  #isOpen = true;

  private constructor(client: SftpClient, place: UploadPlace, handle: Buffer) {
    this.#client = client;
    this.#place = place;
    this.#handle = handle;
  }

  static async open(client: SftpClient, place: UploadPlace): Promise<IncomingFile> {
    const flags = openFlags.write | openFlags.create | openFlags.exclusive;
    // What replaces a file is nobody else's to read before it has that file's permissions.
    const attributes = place.existing === undefined ? {} : { mode: 0o600 };
    return new IncomingFile(client, place, await openFile(client, place.temporary, { flags, attributes }));
  }

  /** Writes the next bytes; `done` is called once the host has them, or with why it has not. Bytes must not change until then. */
  write(data: Buffer, done: (failure?: PlatformError) => void): void {
    const most = this.#client.limits.write;
    let missing = Math.ceil(data.length / most);
    let failure: PlatformError | undefined;
    for (let at = 0; at < data.length; at += most) {
      const part = data.subarray(at, at + most);
      this.#client.send({ type: "write", handle: this.#handle, offset: BigInt(this.#offset), data: part }, (answer) => {
        if (answer instanceof PlatformError) failure ??= answer;
        else if (answer.type !== "status" || answer.status !== "ok") failure ??= failureOf(answer);
        missing -= 1;
        if (missing === 0) done(failure);
      });
      this.#offset += part.length;
    }
  }

  /** All bytes have been written: they are on the disk, and the file has its name. */
  async store(): Promise<void> {
    const { existing, temporary, target } = this.#place;
    if (existing !== undefined) await this.#becomeLike(existing);
    await syncHandle(this.#client, this.#handle);
    await this.#close();
    await renameFile(this.#client, { path: temporary, target, replace: existing !== undefined });
  }

  async drop(): Promise<void> {
    if (this.#isOpen) await this.#close().catch(() => {});
    await removeFile(this.#client, this.#place.temporary);
  }

  /** Owner and permissions of the file that it replaces. */
  async #becomeLike({ owner, mode }: Attributes): Promise<void> {
    const own = await statHandle(this.#client, this.#handle);
    if (owner !== undefined && (own.owner?.uid !== owner.uid || own.owner.gid !== owner.gid)) {
      await setOpenFile(this.#client, this.#handle, { owner }).catch((cause: unknown) => {
        throw new PlatformError("denied", "the file belongs to somebody else, which a new one cannot keep", {
          hint: "use tsh scp, which writes into the file",
          cause,
        });
      });
    }
    if (mode !== undefined) await setOpenFile(this.#client, this.#handle, { mode: mode & permissions });
  }

  async #close(): Promise<void> {
    this.#isOpen = false;
    await closeHandle(this.#client, this.#handle);
  }
}
