import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

/** Both ends of a WebSocket over TCP. */
export interface WebSocketPair extends Disposable {
  readonly client: WebSocket;
  readonly server: WebSocket;
}

export async function webSocketPair(): Promise<WebSocketPair> {
  const listener = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  await once(listener, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(listener.address() as AddressInfo).port}/`);
  const [[server]] = (await Promise.all([once(listener, "connection"), once(client, "open")])) as [[WebSocket], unknown];
  return {
    client,
    server,
    [Symbol.dispose]: () => {
      for (const socket of [client, server]) socket.terminate();
      listener.close();
    },
  };
}
