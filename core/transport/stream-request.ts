import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { type ErrorCode, isErrorCode, PlatformError } from "../errors/platform-error.ts";
import { type StreamKind, type StreamParameters, streamKinds } from "../kinds/stream-kinds.ts";

/**
 * The first message on every stream, from client to control and from control to agent, and its answer.
 *
 *   StreamRequest  u32 length of what follows (at most 16,384)
 *                  u8  version: 1 for ssh and join, 2 for every other kind
 *                  u8  kind: core/kinds/stream-kinds.ts
 *                  string target         name or id of the resource; to join: id of the session
 *                  version 1: the value of the kind's one parameter
 *                  version 2: u8 count, then string name and string value of each parameter
 *                  string clientAddress  "ip:port" of the client; set by control, empty from a client
 *                  string sessionId      UUID; set by control, empty from a client
 *                  string accessRevision revision of roles and authorities by which control decided; set by control
 *   StreamReply    u32 length of what follows (at most 16,384)
 *                  u8  version = 1
 *                  string code     "ok" or an error code of core/errors
 *                  string message  for users, empty when ok
 *                  string hint     what to do, may be empty
 *
 * string = u32 length, UTF-8. After an "ok" the stream carries the kind's own bytes, both ways. Peers older than version 2 know only ssh
 * and join: these two stay unchanged, so that a newer peer need not ask what the other one supports.
 */
interface StreamRequestOf<Kind extends StreamKind> {
  readonly kind: Kind;
  readonly target: string;
  readonly parameters: StreamParameters<Kind>;
  readonly clientAddress: string;
  readonly sessionId: string;
  readonly accessRevision: string;
}
export type StreamRequest<Kind extends StreamKind = StreamKind> = { [One in Kind]: StreamRequestOf<One> }[Kind];

export type StreamReply = { readonly ok: true } | { readonly ok: false; readonly error: PlatformError };

/** Maximum message, without its length. */
export const maxStreamMessage = 16_384;
/** Version 1 has one nameless parameter. */
const versionOne: ReadonlySet<StreamKind> = new Set(["ssh", "join"]);

export function encodeStreamRequest({ kind, target, parameters, clientAddress, sessionId, accessRevision }: StreamRequest): Buffer {
  const { number } = streamKinds[kind];
  const isOne = versionOne.has(kind);
  const pairs = Object.entries<string>(parameters);
  const encoded = isOne ? pairs.map(([, value]) => string(value)) : [u8(pairs.length), ...pairs.flat().map(string)];
  return framed([u8(isOne ? 1 : 2), u8(number), string(target), ...encoded, string(clientAddress), string(sessionId), string(accessRevision)]);
}

/** `body` is the message without its length. Throws PlatformError `invalid` or `unsupported`. */
export function decodeStreamRequest(body: Buffer): StreamRequest {
  const reader = new Reader(body);
  const version = reader.u8();
  if (version !== 1 && version !== 2) throw unsupportedVersion("stream request", version);
  const number = reader.u8();
  const kind = (Object.keys(streamKinds) as StreamKind[]).find((name) => streamKinds[name].number === number);
  if (kind === undefined) throw new PlatformError("unsupported", `unknown stream kind ${number}`, { hint: "the peer may be newer" });
  if (versionOne.has(kind) !== (version === 1)) throw unsupportedVersion(`${kind} stream request`, version);
  const request = {
    kind,
    target: reader.text(),
    parameters: version === 1 ? { [streamKinds[kind].parameters[0] ?? ""]: reader.text() } : readParameters(kind, reader),
    clientAddress: reader.text(),
    sessionId: reader.text(),
    accessRevision: reader.text(),
  };
  reader.end("stream request");
  // Exactly the parameters of its kind were read.
  return request as StreamRequest;
}

/** All of the kind's parameters, each once, and no other than the optional ones: an unknown parameter must not be ignored in a decision. */
function readParameters(kind: StreamKind, reader: Reader): Readonly<Record<string, string>> {
  const { parameters: required, optional = [] }: { readonly parameters: readonly string[]; readonly optional?: readonly string[] } =
    streamKinds[kind];
  const known = [...required, ...optional];
  const pairs = Array.from({ length: reader.u8() }, () => [reader.text(), reader.text()] as const);
  const strange = pairs.find(([name]) => !known.includes(name));
  if (strange !== undefined) {
    const hint = "the peer may be newer";
    throw new PlatformError("unsupported", `parameter ${JSON.stringify(strange[0].slice(0, 64))} of a stream of kind ${kind} is unknown here`, {
      hint,
    });
  }
  const parameters = Object.fromEntries(pairs);
  if (pairs.length !== Object.keys(parameters).length || required.some((name) => !Object.hasOwn(parameters, name))) {
    throw new PlatformError("invalid", `a stream request of kind ${kind} needs each of these parameters once: ${required.join(", ") || "none"}`);
  }
  return parameters;
}

function unsupportedVersion(what: string, version: number): PlatformError {
  return new PlatformError("unsupported", `${what} of version ${version} is not supported here`, { hint: "the peer may be newer" });
}

const replyVersion = 1;

export function encodeStreamReply(reply: StreamReply): Buffer {
  const error = reply.ok ? undefined : reply.error;
  return framed([u8(replyVersion), string(error?.code ?? "ok"), string(clip(error?.message)), string(clip(error?.hint))]);
}

/** `body` is the message without its length. An unknown error code becomes `internal`. */
export function decodeStreamReply(body: Buffer): StreamReply {
  const reader = new Reader(body);
  const version = reader.u8();
  if (version !== replyVersion) throw unsupportedVersion("stream reply", version);
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

function clip(text = ""): string {
  return text.length <= 2000 ? text : `${text.slice(0, 1999)}…`;
}
