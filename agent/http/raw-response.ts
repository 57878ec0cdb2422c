import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import type { ResponseHead, WholeResponse } from "./exchange.ts";

/** The beginning of a response on a connection that Node's server has given away. Throws for a field that would not be one. Pure. */
export function encodeHead({ status, message, headers }: ResponseHead): Buffer {
  const phrase = message === "" ? (STATUS_CODES[status] ?? "") : message;
  const lines = [`HTTP/1.1 ${status} ${phrase}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  if (lines.some((line) => /[\u0000-\u0008\u000a-\u001f]/.test(line))) throw new Error("a header of the response has a control character");
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** Sends a refusal and ends the connection. */
export function refuseRaw(socket: Duplex, { head, body }: WholeResponse): void {
  if (socket.destroyed || !socket.writable) return void socket.destroy();
  socket.write(encodeHead({ ...head, headers: [...head.headers, closing] }));
  endSoon(socket, body);
}

/** The response is the last one. */
export const closing: HeaderField = ["Connection", "close"];

/** Time that a client has to read the end of a connection, ms. */
const lingerMs = 5_000;

/** Ends a connection, whatever the client still sends. */
export function endSoon(socket: Duplex, last?: Buffer): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.on("error", () => {});
  socket.resume();
  socket.end(last, () => socket.destroy());
}
