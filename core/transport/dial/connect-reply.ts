/** Maximum header of a proxy's answer, with any interim (1xx) answers before it, bytes. */
export const maxReplyHeader = 16_384;

/** Meaning of the bytes received so far. */
export type ConnectReply =
  | { readonly kind: "incomplete" }
  | { readonly kind: "malformed"; readonly why: string; readonly looksLikeTls?: boolean }
  /** `length`: bytes of the header; the rest belongs to the tunnel. `reason` is printable ASCII, at most 100 characters. */
  | { readonly kind: "complete"; readonly status: number; readonly reason: string; readonly length: number };

/**
 * Reads a proxy's answer to CONNECT: status line, header fields, empty line (lines may end in LF alone, as RFC 9112 section
 * 2.2 permits). Interim answers are skipped. A peer that does not speak HTTP is detected by its first bytes. Never throws.
 */
export function decodeConnectReply(received: Buffer): ConnectReply {
  const bytes = received.subarray(0, maxReplyHeader);
  for (let start = 0; ; ) {
    const foreign = foreignStart(bytes.subarray(start));
    if (foreign !== undefined) return foreign;
    const end = headerEnd(bytes, start);
    if (end === undefined && received.length < maxReplyHeader) return { kind: "incomplete" };
    if (end === undefined) return { kind: "malformed", why: `an answer whose header has no end within ${maxReplyHeader} bytes` };
    const line = bytes.toString("latin1", start, bytes.indexOf(lineFeed, start)).replace(/\r$/, "");
    const parts = /^HTTP\/1\.[01] ([1-5]\d\d)(?: (.*))?$/s.exec(line);
    if (parts === null) return { kind: "malformed", why: `an answer that begins with ${JSON.stringify(printable(line))}` };
    const status = Number(parts[1]);
    if (status >= 200 || status === 101) return { kind: "complete", status, reason: printable(parts[2] ?? ""), length: end };
    start = end;
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const prefix = Buffer.from("HTTP/1.", "latin1");

function foreignStart(bytes: Buffer): ConnectReply | undefined {
  const length = Math.min(bytes.length, prefix.length);
  if (bytes.compare(prefix, 0, length, 0, length) === 0) return undefined;
  // TLS records: 21 is an alert, 22 a handshake, each followed by major version 3.
  const looksLikeTls = (bytes[0] === 21 || bytes[0] === 22) && (bytes.length === 1 || bytes[1] === 3);
  return { kind: "malformed", why: "something that is not HTTP", looksLikeTls };
}

/** Position after the first empty line. */
function headerEnd(bytes: Buffer, start: number): number | undefined {
  for (let at = bytes.indexOf(lineFeed, start); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return undefined;
}

/** A peer's text, made safe for a terminal and a log. */
function printable(text: string): string {
  return text
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, "?")
    .trim();
}
