import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse } from "@connectrpc/connect";
import { type ErrorCode, isErrorCode, PlatformError } from "../errors/platform-error.ts";

/** Errors of the auth API: our codes to gRPC statuses and back. The hint and the exact code travel as trailers. */
const toGrpc: Readonly<Record<ErrorCode, Code>> = {
  invalid: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  denied: Code.PermissionDenied,
  mfa_required: Code.PermissionDenied,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  conflict: Code.Aborted,
  limit: Code.ResourceExhausted,
  unavailable: Code.Unavailable,
  timeout: Code.DeadlineExceeded,
  unsupported: Code.Unimplemented,
  internal: Code.Internal,
};
const codeHeader = "platform-code";
const hintHeader = "platform-hint";

export function toConnectError(error: PlatformError): ConnectError {
  const metadata: Record<string, string> = { [codeHeader]: error.code };
  if (error.hint !== undefined) metadata[hintHeader] = encodeURIComponent(error.hint);
  return new ConnectError(error.message, toGrpc[error.code], metadata);
}

/** The error of a call as a PlatformError; a broken connection is `unavailable`. */
export function fromConnectError(thrown: unknown): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const error = ConnectError.from(thrown);
  if (error.cause instanceof PlatformError) return error.cause;
  const named = error.metadata.get(codeHeader) ?? "";
  const status = (Object.keys(toGrpc) as ErrorCode[]).find((code) => toGrpc[code] === error.code);
  const code: ErrorCode = isErrorCode(named) ? named : error.code === Code.Canceled ? "unavailable" : (status ?? "internal");
  const hint = error.metadata.get(hintHeader);
  return new PlatformError(code, error.rawMessage, { cause: thrown, hint: hint === null ? undefined : decodeHint(hint) });
}

/** A streaming call, which may break off in the middle. */
export function withOurErrors<I extends DescMessage, O extends DescMessage>(answer: StreamResponse<I, O>): StreamResponse<I, O> {
  return { ...answer, message: translated(answer.message) };
}

async function* translated<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (thrown) {
    throw fromConnectError(thrown);
  }
}

function decodeHint(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Header of a call that a proxy makes for a client of its web API: the client's address, for audit and limits. It is only accepted from
 * hosts of role proxy.
 */
export const clientAddressHeader = "platform-client-address";

/**
 * Header of a call that a proxy makes for a browser that is logged in: the credential `<id>.<secret>` of the browser's session. The call is then one of that user. It is
 * only accepted from hosts of role proxy.
 */
export const browserSessionHeader = "platform-browser-session";

/** Header beside it, of a call for a page that only refreshes itself: the call does not count as use of the session. Its value is `1`. */
export const unusedSessionHeader = "platform-browser-unused";

/** Options of a call on behalf of a client at `address` (`ip` or `ip:port`). */
export function onBehalfOf(address: string): { headers: Record<string, string> } {
  return { headers: { [clientAddressHeader]: address } };
}
