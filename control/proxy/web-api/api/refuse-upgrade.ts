import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { errorBody, httpStatus } from "../server/answer-errors.ts";
import { safeHeaders } from "../server/safe-headers.ts";

/** Time for the browser to read the refusal, ms. */
const lingerMs = 3_000;

/** Answers a request to become a WebSocket with an error, in the form of all errors of the API, and ends the connection. */
export function refuseUpgrade(connection: Duplex, error: PlatformError): void {
  const body = JSON.stringify(errorBody(error));
  const status = httpStatus[error.code];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(safeHeaders).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
  ];
  connection.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  const timer = setTimeout(() => connection.destroy(), lingerMs);
  connection.once("close", () => clearTimeout(timer));
}
