import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { terminateTls } from "../../../core/transport/arrivals/server-tls.ts";
import type { NewConnection } from "../receive-socket.ts";
import type { LastAgents } from "../routing/last-agents.ts";
import type { RoutingServices } from "../routing/routing-services.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import type { CancelRequests } from "./cancel-requests.ts";

export interface FrontServices extends RoutingServices {
  readonly auth: Pick<AuthClient, "signRelayedDatabase">;
  readonly relaying: RelayedStreams;
  readonly cancels: Pick<CancelRequests, "send" | "threadOf">;
  readonly lastAgents: Pick<LastAgents, "of" | "used" | "failed">;
  /** Version in the greeting of MySQL's port, which comes before the database is known. */
  readonly mysqlVersion: string;
  /** `host:port` at which clients dial this database port; undefined: the address that a client states itself. */
  readonly publicAddr?: string | undefined;
  readonly signal: AbortSignal;
}

/** Serves one connection until its end or refusal. Throws PlatformError for what is not a client of the protocol. */
export type Front = (connection: NewConnection<Socket>, services: FrontServices) => Promise<void>;

/** Time from the connection to the end of the client's TLS, and then for its first message, ms. */
export const startMs = 10_000;

/** Ends the client's TLS, by the cluster's own certificate. Its certificate is judged later, so that a refusal has words. Throws as `terminateTls`. */
export async function endClientTls(socket: Duplex, { identity }: Pick<FrontServices, "identity">, alpn: string): Promise<TLSSocket> {
  const tls = await terminateTls(socket, { context: identity.current().databases, alpn, requestCertificate: true, timeoutMs: startMs });
  return tls.on("error", () => {});
}
