import type { Socket } from "node:net";
import type { Peeked } from "./peek.ts";

/** Time that a refused peer has to read the reason, ms. */
const lingerMs = 2000;

/** Messages of a TLS-only port to other clients: `ssh` for SSH clients, `http` for browsers and similar. */
export interface TurnAwayWords {
  readonly ssh: string;
  readonly http: string;
}

/** Reports in the peer's own protocol that this is the wrong port. SSH clients show such a line (RFC 4253 §4.2). */
export function turnAway(socket: Socket, speaks: Exclude<Peeked["speaks"], "tls">, words: TurnAwayWords): void {
  const http = `${words.http}\n`;
  const text =
    speaks === "ssh"
      ? `${words.ssh}\r\n`
      : `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${http.length}\r\nConnection: close\r\n\r\n${http}`;
  socket.end(text);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroy());
}
