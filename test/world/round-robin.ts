import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP load balancer: one address before several, which take connections in turns. */
export interface RoundRobin extends AsyncDisposable {
  /** `host:port`. */
  readonly address: string;
  /** Connections that each target has taken, in their order. */
  readonly taken: readonly number[];
  /** The targets from now on; connections that are open stay. */
  lead(ports: readonly number[]): void;
}

/** All are on one address of this machine. A target that refuses is passed over, as a balancer with health checks does. */
export async function startRoundRobin(ports: readonly number[], host = "127.0.0.1"): Promise<RoundRobin> {
  const sockets = new Set<Socket>();
  const taken: number[] = [];
  let targets = ports;
  let next = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
  };
  const forward = (near: Socket, tries: number): void => {
    const at = next % targets.length;
    next += 1;
    const far = keep(connect({ host, port: targets[at] ?? 0, allowHalfOpen: true }));
    far.once("error", () => (tries > 1 ? forward(near, tries - 1) : near.destroy()));
    far.once("connect", () => {
      taken[at] = (taken[at] ?? 0) + 1;
      near.pipe(far).pipe(near);
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true }, (near) => forward(keep(near), targets.length)).listen(0, host);
  await once(server, "listening");
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    taken,
    lead: (wanted) => {
      targets = wanted;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
