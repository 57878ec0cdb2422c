import { PlatformError } from "../../errors/platform-error.ts";

/** Context of a failed connection: `message` begins the sentence, `hint` is the advice for an unreachable peer. */
export interface Purpose {
  readonly message: string;
  readonly hint: string;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  CONNECTION_CLOSED: "the connection was closed",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "the network is unreachable",
  EHOSTDOWN: "the host is down",
  ETIMEDOUT: "the connection timed out",
  ENOTFOUND: "the name does not exist",
  EAI_AGAIN: "the name could not be resolved",
  EADDRNOTAVAIL: "the address cannot be reached from here",
  EACCES: "this machine's rules forbid it",
  EPERM: "this machine's rules forbid it",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_HEADERS_OVERFLOW: "its headers are too long",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "its length is not the one that it announces",
};

/** A socket's error as `unavailable`, with a sentence for its code; a PlatformError passes unchanged. */
export function connectionError(thrown: unknown, purpose: Purpose): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const code = errorCode(thrown);
  const reason = reasons[code] ?? (thrown instanceof Error && thrown.message !== "" ? thrown.message : code);
  return new PlatformError("unavailable", `${purpose.message}: ${reason}`, { hint: purpose.hint, cause: thrown });
}

/** Node's `code` of an error, or an empty text. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}
