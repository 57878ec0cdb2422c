import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What a server sends, once it has got these bytes since the last part. */
export interface ScriptedPart {
  readonly when: (received: Buffer) => boolean;
  readonly send: Buffer;
}

export interface Cut {
  /** Bytes after which the server leaves; Infinity: it stays. */
  readonly at: number;
  readonly how: "end" | "destroy";
}

export interface ScriptedServer extends AsyncDisposable {
  readonly port: number;
  /** Connections, in order. */
  readonly sockets: readonly Socket[];
}

/** A server without a mind: it sends its parts, and leaves after so many bytes. */
export async function scriptedServer(
  parts: readonly ScriptedPart[],
  { at, how }: Cut = { at: Number.POSITIVE_INFINITY, how: "end" },
): Promise<ScriptedServer> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.setNoDelay(true).on("error", () => {}));
    let [next, sent, received] = [0, 0, Buffer.alloc(0)];
    const go = (): void => {
      for (let part = parts[next]; part?.when(received) === true; part = parts[next]) {
        const bytes = part.send.subarray(0, at - sent);
        [next, sent, received] = [next + 1, sent + bytes.length, Buffer.alloc(0)];
        socket.write(bytes);
        if (sent >= at) return void (how === "end" ? socket.end() : socket.destroySoon());
      }
    };
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      go();
    });
    go();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export interface Pouring {
  readonly piece: Buffer;
  /** Bytes after which it ends. */
  readonly most: number;
  /** What the other side has taken so far, in any unit. */
  readonly taken: () => number;
}

/** Writes the same bytes again and again until there are `most` of them, or the other side takes nothing more; how many were written. */
export async function pour(socket: Socket, { piece, most, taken }: Pouring): Promise<number> {
  let sent = 0;
  while (sent < most && !socket.destroyed) {
    sent += piece.length;
    if (!socket.write(piece) && !(await isDrained(socket, taken))) break;
  }
  return sent;
}

/** Turns of the event loop without progress, each with a pause, after which the other side has stopped. */
const idleTurns = 6;
const pauseMs = 20;

async function isDrained(socket: Socket, taken: () => number): Promise<boolean> {
  let [last, idle] = [taken(), 0];
  const stop = new AbortController();
  const drained = once(socket, "drain", { signal: stop.signal }).catch(() => {});
  while (socket.writableNeedDrain && !socket.destroyed && idle < idleTurns) {
    await Promise.race([drained, delay(pauseMs)]);
    idle = taken() === last ? idle + 1 : 0;
    last = taken();
  }
  stop.abort();
  return !socket.writableNeedDrain;
}
