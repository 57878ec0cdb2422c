import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

/** Both ends of a WebSocket over TCP. */
export interface WebSocketPair extends Disposable {
  readonly client: WebSocket;
  readonly server: WebSocket;
  /** The TCP connection below `server`: nothing leaves it while it is corked. */
  readonly wire: Socket;
}

export async function webSocketPair(): Promise<WebSocketPair> {
  const listener = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  await once(listener, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(listener.address() as AddressInfo).port}/`);
  const [[server, { socket: wire }]] = (await Promise.all([once(listener, "connection"), once(client, "open")])) as [
    [WebSocket, IncomingMessage],
    unknown,
  ];
  return {
    client,
    server,
    wire,
    [Symbol.dispose]: () => {
      for (const socket of [client, server]) socket.terminate();
      listener.close();
    },
  };
}
