import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface DelayRelay extends Disposable {
  readonly port: number;
}

/** Passes TCP connections on to a port of loopback, each byte `roundTripMs` / 2 later in either direction. */
export async function startDelayRelay(port: number, roundTripMs: number): Promise<DelayRelay> {
  const sockets = new Set<Socket>();
  const delay = async (from: Socket, to: Socket): Promise<void> => {
    // Chunks keep their order: each waits for its own time, and for the one before.
    let last = Promise.resolve();
    const later = (act: () => void): void => {
      const due = sleep(roundTripMs / 2);
      last = last.then(() => due).then(act);
    };
    from.on("data", (chunk: Buffer) => later(() => void to.write(chunk)));
    from.once("end", () => later(() => to.end()));
    from.once("close", () => later(() => to.destroy()));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    }
    void delay(near, far);
    void delay(far, near);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
