import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import { watchPresence } from "../routing/client-presence.ts";
import { reachServed } from "../routing/reach-served.ts";
import type { FrontServices } from "./front.ts";

/** A client of a database port whose TLS ends at this proxy. */
export interface FrontClient {
  readonly tls: TLSSocket;
  readonly protocol: DbProtocol;
  /** `ip:port` of the client. */
  readonly peer: string;
  /** Parameter `at` of the request. */
  readonly at: string;
}

/** Whether clients refer on one connection to another one: to interrupt a query (KILL), or for a cursor or a session of the server. */
const namesConnections: Readonly<Record<DbProtocol, boolean>> = { mysql: true, mongodb: true, postgres: false, redis: false };

export interface ReachedDatabase {
  readonly agent: TLSSocket;
  /** Name of the database. */
  readonly database: string;
}

/** The way to the database that the client's certificate is for, as `reachServed`. Throws PlatformError. */
export async function reachDatabase({ tls, protocol, peer, at }: FrontClient, services: FrontServices): Promise<ReachedDatabase> {
  const certificate = peerCertificate(tls) ?? Buffer.alloc(0);
  const userCertificate = new Uint8Array(certificate);
  let database = "";
  using presence = watchPresence(tls);
  const way = {
    clientAddress: peer,
    left: presence.left,
    identify: async () => await identified(certificate, services),
    request: (identity: UserIdentity) => {
      const { name: target, account: user } = databaseOf(identity);
      database = target;
      return { kind: "db", target, parameters: { user, name: "", host: "", at } } as const;
    },
    last: namesConnections[protocol] ? services.lastAgents : undefined,
    check: ({ target }: { readonly target: string }, hostId: string) => requireProtocol({ name: target, hostId, protocol }, services),
    sign: async (ask: { readonly hostId: string; readonly tlsPublicKey: string }) =>
      (await services.auth.signRelayedDatabase({ ...ask, userCertificate, clientAddress: peer })).tlsCertificate,
  };
  const agent = await reachServed<"db">(way, services);
  if (!tls.destroyed) return { agent, database };
  agent.destroy();
  throw new PlatformError("unavailable", "the client has left");
}

const hint = "get a certificate with: tsh db login <name>, after tsh login if that has expired; or use: tsh proxy db <name>";

/** Throws `unauthenticated`. */
async function identified(certificate: Buffer, { access, cluster, now }: FrontServices): Promise<UserIdentity> {
  const { userCaPem: authorities } = await access.current();
  return certifiedIdentity("user", { certificate: certificate.length > 0 ? certificate : undefined, authorities, cluster, now: now() }, hint);
}

/** The one database and account of a certificate. Throws `denied` for another certificate. */
function databaseOf({ name: user, route }: UserIdentity): { readonly name: string; readonly account: string } {
  if (route?.kind === "db" && route.account !== undefined) return { name: route.name, account: route.account };
  throw new PlatformError("denied", `access denied: the certificate of ${user} is not for one database and one account`, { hint });
}

interface Meant {
  readonly name: string;
  readonly hostId: string;
  readonly protocol: DbProtocol;
}

/** Throws `denied` for a database of another protocol. */
function requireProtocol({ name, hostId, protocol }: Meant, { registry }: FrontServices): void {
  const offer = registry.offering("db", name).find(({ tunnel }) => tunnel.identity.id === hostId);
  const spoken = offer?.offered.details?.protocol;
  if (spoken === undefined || spoken === protocol) return;
  throw new PlatformError("denied", `access denied: this port is for ${protocol}, and database ${name} speaks ${spoken}`, {
    hint: `\`tsh db config ${name}\` shows its port`,
  });
}
