import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { buffer } from "node:stream/consumers";
import { until } from "./until.ts";

export interface EchoServer extends Disposable {
  readonly port: number;
}

/** Echoes its input, on loopback, and ends when the other side has. */
export async function startEcho(): Promise<EchoServer> {
  const server = createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).pipe(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

/** Sends a text to an echo address, as soon as it listens, and reads it back to the end. */
export async function echoed(where: { port: number; host?: string } | { path: string }, text: string): Promise<string> {
  const socket = await until("somebody listens", async () => {
    const attempt = connect({ ...where, allowHalfOpen: true });
    await once(attempt, "connect");
    return attempt.on("error", () => {});
  });
  socket.end(text);
  return (await buffer(socket)).toString();
}
