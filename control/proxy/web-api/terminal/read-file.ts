import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { failureOf } from "../../../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../../../core/sftp-client/sftp-client.ts";

/** Bytes of one read, and reads that are under way while nobody takes their bytes: half a megabyte. */
const [pieceBytes, ahead] = [65_536, 8] as const;
/** Most bytes that a file on its way holds. */
export const readAheadBytes = pieceBytes * ahead;

/**
 * The bytes of an open file: exactly `size` of them; `undefined` reads to the end, wherever that is. Throws `conflict` for a file that became shorter, and
 * PlatformError for a host that fails.
 */
export async function* readFile(client: SftpClient, handle: Buffer, size: number | undefined): AsyncGenerator<Buffer> {
  const piece = Math.min(pieceBytes, client.limits.read);
  if (size === undefined) yield* readToEnd(client, handle, piece);
  else yield* readExactly(client, { handle, piece, size });
}

async function* readToEnd(client: SftpClient, handle: Buffer, piece: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const data = await readOnce(client, handle, { at, length: piece });
    if (data === undefined) return;
    yield data;
    at += data.length;
  }
}

interface Exactly {
  readonly handle: Buffer;
  readonly piece: number;
  readonly size: number;
}

async function* readExactly(client: SftpClient, { handle, piece, size }: Exactly): AsyncGenerator<Buffer> {
  const coming: Promise<Buffer>[] = [];
  let at = 0;
  for (;;) {
    while (coming.length < ahead && at < size) {
      const length = Math.min(piece, size - at);
      const reading = readWhole(client, handle, { at, length });
      // One that fails is reported when its turn comes, if it does.
      reading.catch(() => {});
      coming.push(reading);
      at += length;
    }
    const next = coming.shift();
    if (next === undefined) return;
    yield await next;
  }
}

interface Range {
  readonly at: number;
  readonly length: number;
}

/** A host may answer with less than was asked for. */
async function readWhole(client: SftpClient, handle: Buffer, { at, length }: Range): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let held = 0; held < length; ) {
    const data = await readOnce(client, handle, { at: at + held, length: length - held });
    if (data === undefined) throw new PlatformError("conflict", "the file became shorter while it was read");
    parts.push(data);
    held += data.length;
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** Undefined: the file ends there. */
async function readOnce(client: SftpClient, handle: Buffer, { at, length }: Range): Promise<Buffer | undefined> {
  const response = await client.ask({ type: "read", handle, offset: BigInt(at), length });
  if (response.type === "status" && response.status === "end_of_file") return undefined;
  if (response.type !== "data") throw failureOf(response);
  if (response.data.length === 0 || response.data.length > length)
    throw new PlatformError("unavailable", "the SFTP server answered with a wrong length");
  return response.data;
}
