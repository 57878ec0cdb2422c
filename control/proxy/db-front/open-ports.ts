import type { Socket } from "node:net";
import { type DbProtocol, dbProtocols } from "../../../core/resources/db.ts";
import type { Listener } from "../../../core/transport/arrivals/listen.ts";
import { formatHostPort, type HostPort, withPort } from "../../../core/transport/host-port.ts";
import type { DatabasePort } from "../../config.ts";
import type { Serve } from "../receive-socket.ts";
import { auditingOffences } from "./audit-offence.ts";
import type { Front, FrontServices } from "./front.ts";

export interface DatabasePorts {
  /** Of the protocols that have a port. */
  readonly listeners: readonly Listener[];
  addresses(): { readonly [Protocol in DbProtocol]?: HostPort };
}

/** What serves the port of each protocol, loaded with its first connection. */
const fronts: Readonly<Record<DbProtocol, () => Promise<Front>>> = {
  postgres: async () => (await import("./postgres/serve-postgres.ts")).servePostgres,
  mysql: async () => (await import("./mysql/serve-mysql.ts")).serveMysql,
  mongodb: async () => (await import("./mongodb/serve-mongodb.ts")).serveMongodb,
  redis: async () => (await import("./redis/serve-redis.ts")).serveRedis,
};

type Open = (purpose: string, address: HostPort, serve: Serve<Socket>) => Promise<Listener>;

/** Opens the configured ports. Throws `unavailable` when one cannot be opened; the others are closed then. */
export async function openDatabasePorts(
  ports: { readonly [Protocol in DbProtocol]?: DatabasePort },
  services: FrontServices,
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
      const serve: Serve<Socket> = async (connection) => await auditingOffences(protocol, await fronts[protocol]())(connection, own);
      opened.set(protocol, await open(protocol, listen, serve));
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
