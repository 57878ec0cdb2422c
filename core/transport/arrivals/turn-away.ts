import type { Socket } from "node:net";
import type { Peeked } from "./peek.ts";

/** How long a turned-away peer has to read why, ms. */
const lingerMs = 2000;

/** What a port that speaks TLS alone says to others: `ssh` goes to SSH clients, `http` to browsers and their like. */
export interface TurnAwayWords {
  readonly ssh: string;
  readonly http: string;
}

/** Says in the peer's own protocol that it is at the wrong port. The SSH line is one that clients show (RFC 4253 §4.2). */
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
