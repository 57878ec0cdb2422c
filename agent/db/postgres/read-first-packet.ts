import type { Duplex } from "node:stream";
import { type TakeOptions, takeBytes } from "../../../core/databases/take-bytes.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type CancelPacket, decodeFirstPacket, firstPacketLength, type StartupPacket } from "./first-packet.ts";

/** Time that a client has from the connection to its startup packet, ms. */
const startupMs = 10_000;
/** "Not encrypted": the tunnel encrypts the connection. */
const no: Buffer = Buffer.from("N");

/** Bytes of a malformed packet that are reported: its length and its code. */
const headBytes = 8;

/**
 * Reads a client's packets up to its startup packet or request to cancel, and refuses encryption. `onMalformed` gets the beginning of bytes that are not such a
 * packet. Throws PlatformError `invalid` and `unsupported`, `unavailable` when the client leaves, `timeout`, the reason of the signal.
 */
export async function readFirstPacket(
  client: Duplex,
  signal: AbortSignal,
  onMalformed: (head: Buffer) => void,
): Promise<StartupPacket | CancelPacket> {
  let head: Buffer = Buffer.alloc(0);
  const enough = (bytes: Buffer): number | undefined => {
    head = bytes.subarray(0, headBytes);
    return bytes.length < 4 ? undefined : firstPacketLength(bytes);
  };
  try {
    return await readPackets(client, signal, enough);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "invalid") onMalformed(head);
    throw thrown;
  }
}

async function readPackets(client: Duplex, signal: AbortSignal, enough: TakeOptions["enough"]): Promise<StartupPacket | CancelPacket> {
  const deadline = performance.now() + startupMs;
  const asked = new Set<string>();
  for (;;) {
    const timeoutMs = Math.max(1, deadline - performance.now());
    const packet = decodeFirstPacket(await takeBytes(client, { enough, timeoutMs, what: "the startup packet", signal }));
    if (packet.kind === "startup" || packet.kind === "cancel") return packet;
    if (asked.has(packet.kind)) throw new PlatformError("invalid", "the client asked twice for the same encryption");
    asked.add(packet.kind);
    // They would count as bytes of the encrypted connection, and came in plain text.
    if (client.readableLength > 0) throw new PlatformError("invalid", "the client sent data behind its request for encryption");
    client.write(no);
  }
}
