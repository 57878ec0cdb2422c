import { type ErrorCode, errorText, type PlatformError } from "../../../core/errors/platform-error.ts";
import { plainAnswer } from "../../../core/transport/plain-answer.ts";

/** The status of what a client with a certificate can be refused for; everything else is 502: the proxy did not get through to the application. */
const statuses: { readonly [Code in ErrorCode]?: readonly [status: number, reason: string] } = {
  unauthenticated: [401, "Unauthorized"],
  denied: [403, "Forbidden"],
  mfa_required: [403, "Forbidden"],
  not_found: [404, "Not Found"],
  limit: [429, "Too Many Requests"],
  timeout: [504, "Gateway Timeout"],
};

/** The refusal of a connection before its first request: an answer of HTTP/1.1, or the end of HTTP/2 (RFC 9113). Pure. */
export function refusalBytes(error: PlatformError, isHttp2: boolean): Buffer {
  const text = `${error.code === "internal" ? "the proxy failed" : errorText(error)}\n`;
  return isHttp2 ? farewell(error.code, text) : answer(error.code, text);
}

function answer(code: ErrorCode, text: string): Buffer {
  const [status, reason] = statuses[code] ?? [502, "Bad Gateway"];
  return plainAnswer(`${status} ${reason}`, text);
}

const [settings, goAway] = [4, 7];
const [internalError, inadequateSecurity] = [2, 12];
/** Words at the end of a connection, bytes. */
const maxWords = 1_000;

/** `SETTINGS | GOAWAY`: no request was taken (last stream 0), for want of a certificate or because of a failure, with the reason as its debug data. */
function farewell(code: ErrorCode, text: string): Buffer {
  const words = Buffer.from(text).subarray(0, maxWords);
  const body = Buffer.alloc(8);
  body.writeUInt32BE(code === "unauthenticated" || code === "denied" ? inadequateSecurity : internalError, 4);
  return Buffer.concat([frame(settings, Buffer.alloc(0)), frame(goAway, Buffer.concat([body, words]))]);
}

/** `length u24 | type u8 | flags u8 | stream u32`, then the payload. */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, payload]);
}
