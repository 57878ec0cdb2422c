import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A network between a client and a port of this machine that can drop everything silently: no connection ends, and nothing passes. */
export interface SilentRelay extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing passes, in connections that are there and in new ones. */
  silence(): void;
  /** New connections work again; those from before are gone for both ends. */
  recover(): void;
}

export async function startSilentRelay(to: number): Promise<SilentRelay> {
  const open = new Set<Socket>();
  let isSilent = false;
  const pass = (from: Socket, into: Socket): void => {
    open.add(from);
    from.on("data", (chunk) => {
      if (!isSilent) into.write(chunk);
    });
    from
      .on("error", () => {})
      .on("close", () => {
        open.delete(from);
        if (!isSilent) into.destroy();
      });
  };
  const server = createServer((client) => {
    const upstream = connect(to, "127.0.0.1");
    pass(client, upstream);
    pass(upstream, client);
  });
  const drop = (): void => {
    for (const socket of open) socket.destroy();
  };
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      isSilent = true;
    },
    recover: () => {
      drop();
      isSilent = false;
    },
    [Symbol.asyncDispose]: async () => {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}
