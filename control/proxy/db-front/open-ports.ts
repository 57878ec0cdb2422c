import type { Socket } from "node:net";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { type DbProtocol, dbProtocols } from "../../../core/resources/db.ts";
import type { FailedArrivals, HalfOpen } from "../../../core/transport/arrivals/half-open.ts";
import { type Listener, peerAddress } from "../../../core/transport/arrivals/listen.ts";
import { formatHostPort, type HostPort, withPort } from "../../../core/transport/host-port.ts";
import type { DatabasePort } from "../../config.ts";
import { auditingOffences } from "./audit-offence.ts";
import type { FrontArrival, FrontServices } from "./front.ts";
import { frontOf } from "./fronts.ts";

export interface DatabasePorts {
  /** Of the protocols that have a port. */
  readonly listeners: readonly Listener[];
  addresses(): { readonly [Protocol in DbProtocol]?: HostPort };
}

export interface PortServices extends FrontServices {
  readonly halfOpen: HalfOpen;
  readonly failed: FailedArrivals;
}

type Open = (purpose: string, address: HostPort, onSocket: (socket: Socket) => Promise<void>) => Promise<Listener>;

/** Opens the configured ports. Throws `unavailable` when one cannot be opened; the others are closed then. */
export async function openDatabasePorts(
  ports: { readonly [Protocol in DbProtocol]?: DatabasePort },
  services: PortServices,
  open: Open,
): Promise<DatabasePorts> {
  const opened = new Map<DbProtocol, Listener>();
  try {
    for (const protocol of dbProtocols) {
      const { listen, publicAddr } = ports[protocol] ?? {};
      if (listen === undefined) continue;
      const own = {
        ...services,
        publicAddr: publicAddr && formatHostPort(withPort(publicAddr, listen)),
      };
      opened.set(protocol, await open(protocol, listen, (socket) => receive(protocol, socket, own)));
    }
  } catch (thrown) {
    for (const listener of opened.values()) await listener.close();
    throw thrown;
  }
  return {
    listeners: [...opened.values()],
    addresses: () => Object.fromEntries([...opened].map(([protocol, { address }]) => [protocol, address])),
  };
}

/** Serves a connection to a port. Never rejects. */
async function receive(protocol: DbProtocol, socket: Socket, services: PortServices): Promise<void> {
  const { halfOpen, failed, log } = services;
  const peer = peerAddress(socket);
  halfOpen.enter(socket);
  const arrival: FrontArrival = { socket, peer, established: () => halfOpen.leave(socket) };
  try {
    await auditingOffences(protocol, await frontOf(protocol))(arrival, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    log[error.code === "internal" ? "error" : "debug"]("connection ended", { peer, port: protocol, code: error.code, error });
    failed.add(peer, error.message);
    socket.destroy();
  }
}
