import { Agent, WebSocket } from "undici";
import type { Visitor } from "./app-client.ts";

/** What a WebSocket at this path answers to `ping`, with a browser's client and this origin; `refused`: it does not open. */
export async function echoOf(visitor: Visitor, path: string, origin?: string): Promise<string> {
  const { address, port, host, ca, cookie = "" } = visitor;
  const lookup = (_host: string, _options: object, done: (error: null, found: { address: string; family: number }[]) => void): void =>
    done(null, [{ address, family: 4 }]);
  await using stack = new AsyncDisposableStack();
  const dispatcher = stack.adopt(new Agent({ connect: { ca, lookup: lookup as never } }), (open) => open.destroy());
  const socket = new WebSocket(`wss://${host}:${port}${path}`, { dispatcher, headers: { cookie, ...(origin !== undefined && { origin }) } });
  const heard = Promise.withResolvers<string>();
  socket.onopen = () => socket.send("ping");
  socket.onmessage = ({ data }) => heard.resolve(String(data));
  socket.onerror = () => heard.resolve("refused");
  const result = await heard.promise;
  socket.close();
  return result;
}
