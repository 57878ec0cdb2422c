import type { Duplex } from "node:stream";

/** Bytes; smaller than the first buffer of Node's `NodeBIO` (1,024). */
const piece = 1000;

/**
 * What was read ahead from a socket (the ClientHello) reaches the TLS layer in pieces: one that fills the first buffer of `NodeBIO` to the
 * brim makes it add one of 16 KiB, which an idle connection keeps for life. It replaces the socket's `read` until the pieces are read.
 */
export function feedInPieces(socket: Duplex): void {
  const ahead = socket.read() as Buffer | null;
  if (ahead === null) return;
  socket.unshift(ahead);
  const pieces: Buffer[] = [];
  for (let at = 0; at < ahead.length; at += piece) pieces.push(ahead.subarray(at, at + piece));
  const { read } = socket;
  socket.read = () => {
    if (pieces.length === 1) {
      // Deleting it would make V8 keep the socket as a dictionary, which takes 1 KiB more.
      socket.read = read;
      socket.read();
    }
    return pieces.shift() ?? null;
  };
}
