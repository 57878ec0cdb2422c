import type { Duplex } from "node:stream";
import { PlatformError } from "../../errors/platform-error.ts";
import { takeBytes } from "../take-bytes.ts";
import { type FirstMessage, lengthOfFirst, readFirst } from "./first-message.ts";

/** Time for each of a client's first packets, ms. */
const packetMs = 10_000;

/**
 * The first message that is not answered here: a request for encryption by Kerberos gets a no, one for TLS the given answer, and the next message counts
 * after a no. A ClientHello stays in the stream. Throws `invalid`, `timeout`, `unavailable`, the reason of the signal.
 */
export async function readStart(client: Duplex, tls: "S" | "N", signal: AbortSignal): Promise<FirstMessage> {
  const asked = new Set<string>();
  for (;;) {
    const head = await takeFirst(client, signal);
    const first = readFirst(head);
    if (first.kind === "hello") client.unshift(head);
    if (first.kind !== "tls" && first.kind !== "gss") return first;
    if (asked.has(first.kind)) throw new PlatformError("invalid", "a client asked twice for the same encryption");
    asked.add(first.kind);
    // They were sent in the clear, and must not be taken for what comes after the answer (CVE-2021-23214).
    if (client.readableLength > 0) throw new PlatformError("invalid", "a client sent data behind its request for encryption");
    client.write(first.kind === "tls" ? tls : "N");
    if (first.kind === "tls" && tls === "S") return first;
  }
}

/** The bytes of a first message that decide what it is. Throws as `readStart`. */
export async function takeFirst(client: Duplex, signal: AbortSignal): Promise<Buffer> {
  return await takeBytes(client, { enough: lengthOfFirst, timeoutMs: packetMs, what: "a client's first packet", signal });
}
