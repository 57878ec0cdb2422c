import { Reader } from "../bytes/reader.ts";
import { string, u8, u32 } from "../bytes/writer.ts";
import { type ErrorCode, isErrorCode, PlatformError } from "../errors/platform-error.ts";

/**
 * The first message on every stream, from client to control and from control to agent, and its answer.
 *
 *   StreamRequest  u32 length of what follows (at most 16,384)
 *                  u8  version = 1
 *                  u8  kind: 1 ssh, 2 join
 *                  string target         name or id of the host; to join: id of the session
 *                  string login          Unix login, empty when not known (jump host); to join: observer or peer
 *                  string clientAddress  "ip:port" of the client; set by control, empty from a client
 *                  string sessionId      UUID; set by control, empty from a client
 *                  string accessRevision revision of roles and authorities that control decided by; set by control
 *   StreamReply    u32 length of what follows (at most 16,384)
 *                  u8  version = 1
 *                  string code     "ok" or an error code of core/errors
 *                  string message  for people, empty when ok
 *                  string hint     what to do, may be empty
 *
 * string = u32 length, UTF-8. After an "ok" the stream carries the kind's own bytes, both ways.
 */
export type StreamKind = "ssh" | "join";

export interface StreamRequest {
  readonly kind: StreamKind;
  readonly target: string;
  readonly login: string;
  readonly clientAddress: string;
  readonly sessionId: string;
  readonly accessRevision: string;
}

export type StreamReply = { readonly ok: true } | { readonly ok: false; readonly error: PlatformError };

/** Longest message, without its length. */
export const maxStreamMessage = 16_384;
const protocolVersion = 1;
const kinds: Readonly<Record<StreamKind, number>> = { ssh: 1, join: 2 };

export function encodeStreamRequest(request: StreamRequest): Buffer {
  return framed([
    u8(protocolVersion),
    u8(kinds[request.kind]),
    string(request.target),
    string(request.login),
    string(request.clientAddress),
    string(request.sessionId),
    string(request.accessRevision),
  ]);
}

/** `body` is the message without its length. Throws PlatformError `invalid` or `unsupported`. */
export function decodeStreamRequest(body: Buffer): StreamRequest {
  const reader = opened(body, "stream request");
  const number = reader.u8();
  const kind = (Object.keys(kinds) as StreamKind[]).find((name) => kinds[name] === number);
  if (kind === undefined) throw new PlatformError("unsupported", `stream kind ${number} is not known here`, { hint: "the peer may be newer" });
  const request = {
    kind,
    target: reader.text(),
    login: reader.text(),
    clientAddress: reader.text(),
    sessionId: reader.text(),
    accessRevision: reader.text(),
  };
  reader.end("stream request");
  return request;
}

export function encodeStreamReply(reply: StreamReply): Buffer {
  const error = reply.ok ? undefined : reply.error;
  return framed([u8(protocolVersion), string(error?.code ?? "ok"), string(clip(error?.message)), string(clip(error?.hint))]);
}

/** `body` is the message without its length. An unknown error code becomes `internal`. */
export function decodeStreamReply(body: Buffer): StreamReply {
  const reader = opened(body, "stream reply");
  const [code, message, hint] = [reader.text(), reader.text(), reader.text()];
  reader.end("stream reply");
  if (code === "ok") return { ok: true };
  const known: ErrorCode = isErrorCode(code) ? code : "internal";
  return { ok: false, error: new PlatformError(known, message, { hint: hint === "" ? undefined : hint }) };
}

function framed(parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length > maxStreamMessage) throw new PlatformError("invalid", `stream message of ${body.length} bytes; ${maxStreamMessage} are allowed`);
  return Buffer.concat([u32(body.length), body]);
}

function opened(body: Buffer, what: string): Reader {
  const reader = new Reader(body);
  const version = reader.u8();
  if (version !== protocolVersion) throw new PlatformError("unsupported", `${what} of version ${version}; this side speaks ${protocolVersion}`);
  return reader;
}

function clip(text = ""): string {
  return text.length <= 2000 ? text : `${text.slice(0, 1999)}…`;
}
