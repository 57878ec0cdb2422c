import { PlatformError } from "../../errors/platform-error.ts";

/*
 * What a client of PostgreSQL begins with (its documentation, "Message Formats"): `u32 length, itself included | u32 code | body`
 *
 *   80877103 SSLRequest, 80877104 GSSENCRequest   no body
 *   80877102 CancelRequest                        u32 process id | secret of 4 to 256 bytes
 *   major << 16 | minor                           StartupMessage, of which the head is enough
 *
 * or with TLS at once: a record of type 22.
 */
export type FirstMessage = { readonly kind: "tls" | "gss" | "hello" | "startup" } | { readonly kind: "cancel"; readonly key: Buffer };

const codes = { cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104 } as const;
const headLength = 8;
/** Longest startup packet that servers take, with its length. */
const maxStartup = 10_004;
const cancelLengths = { min: 16, max: headLength + 4 + 256 } as const;

/** Bytes that decide what it is: a CancelRequest to its end, the head of anything else. Undefined: more are needed. Throws `invalid`. Pure. */
export function lengthOfFirst(bytes: Buffer): number | undefined {
  if (bytes[0] === 22) return 1;
  const length = bytes.length < 4 ? headLength : checkedLength(bytes);
  if (bytes.length < headLength) return undefined;
  switch (bytes.readUInt32BE(4)) {
    case codes.tls:
    case codes.gss:
      if (length !== headLength) throw strange(length);
      return headLength;
    case codes.cancel:
      if (length < cancelLengths.min || length > cancelLengths.max) throw strange(length);
      return length;
    default:
      return headLength;
  }
}

/** Reads the bytes that `lengthOfFirst` asked for. Pure. */
export function readFirst(bytes: Buffer): FirstMessage {
  if (bytes[0] === 22) return { kind: "hello" };
  switch (bytes.readUInt32BE(4)) {
    case codes.tls:
      return { kind: "tls" };
    case codes.gss:
      return { kind: "gss" };
    case codes.cancel:
      return { kind: "cancel", key: Buffer.from(bytes.subarray(headLength)) };
    default:
      return { kind: "startup" };
  }
}

function checkedLength(bytes: Buffer): number {
  const length = bytes.readUInt32BE(0);
  if (length < headLength || length > maxStartup) throw strange(length);
  return length;
}

function strange(length: number): PlatformError {
  return new PlatformError("invalid", `the client is not one of PostgreSQL: its first packet announces ${length} bytes`);
}
