import { once } from "node:events";
import type { Duplex } from "node:stream";

/** The next bytes of a stream. */
export async function nextBytes(stream: Duplex): Promise<Buffer> {
  const [bytes] = (await once(stream, "data")) as [Buffer];
  return bytes;
}

/** All bytes until the end. */
export async function allBytes(stream: Duplex): Promise<Buffer> {
  return Buffer.concat((await stream.toArray()) as Buffer[]);
}
