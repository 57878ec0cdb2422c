import { isIP, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { DbAddress } from "../../core/resources/db.ts";
import { checkedLookup, usuallyDenied } from "../../core/transport/checked-lookup.ts";
import { Attempt } from "../../core/transport/dial/attempt.ts";
import { issuerOf, tlsError } from "../../core/transport/dial/connection-error.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { startTls, trustedRoots } from "../../core/transport/dial/start-tls.ts";
import { IpSet } from "../../core/transport/ip-prefix.ts";
import { watchPeer } from "../service/watch-peer.ts";
import type { Database, ServerCredentials } from "./database.ts";
import type { ServerAccess } from "./engine.ts";

/** Time limits of a connection and of its TLS handshake, ms. */
const connectMs = 15_000;
const handshakeMs = 15_000;

export interface Traveller {
  /** The account. */
  readonly user: string;
  readonly credentials: ServerCredentials;
  /** A connection for the session, to one of the database's servers. */
  readonly dial: (address: DbAddress) => Promise<Socket>;
  /** Resolves once the session has begun: until then nothing goes to a server beyond its TLS. Left out: it has. */
  readonly begun?: Promise<void>;
}

/** The road to a database's server as one account. */
export function serverRoad(database: Database, { user, credentials, dial: dialOne, begun }: Traveller, signal: AbortSignal): ServerAccess {
  const [first] = database.addresses;
  /** The host that each connection leads to, which the server's certificate has to name. */
  const hosts = new WeakMap<Socket, string>();
  return {
    user,
    dial: async (address: DbAddress = first) => {
      const socket = await dialOne(address);
      hosts.set(socket, address.host);
      return socket;
    },
    secure: async (socket, { alpn = [], leave } = {}) => {
      const host = hosts.get(socket) ?? first.host;
      const { secure, refusal } = await secureServer(database, { socket, alpn, host, credentials, signal, finishes: leave !== undefined });
      try {
        if (refusal !== undefined) throw refusal;
        await begun;
        return secure;
      } catch (thrown) {
        // Only the reason counts, not how the server responds.
        await leave?.(secure).catch(() => {});
        secure.destroy();
        throw thrown;
      }
    },
  };
}

/** Addresses to which servers may not send an agent; the database's own address is the admin's choice. */
const denied = new IpSet(usuallyDenied);
const isInside = (address: string): boolean => !denied.has(address);
const outside = (host: string): PlatformError =>
  new PlatformError(
    "denied",
    `the agent does not connect to ${host}: a server named it, and it is a link-local address or one of a metadata service`,
  );
const lookup = checkedLookup({ isInside, outside });

/**
 * A TCP connection to a server, from this host's own network, never through an HTTP proxy. One that another server named must not be a link-local address.
 * Throws `unavailable`.
 */
export async function dialServer({ name, addresses }: Database, address: DbAddress, signal: AbortSignal): Promise<Socket> {
  try {
    const isOwn = addresses.some(({ host }) => host === address.host);
    if (!isOwn && isIP(address.host) !== 0 && !isInside(address.host)) throw outside(address.host);
    const socket = await dial(address, { env: {}, timeoutMs: connectMs, signal, ...(!isOwn && { lookup }) });
    return watchPeer(socket, `the server of database ${name}`);
  } catch (cause) {
    throw new PlatformError("unavailable", `database ${name} is unreachable: ${errorText(cause)}`, { cause });
  }
}

/** The name that a server's certificate must have, and the authorities that may have issued it. */
export function serverTls(
  { tls }: Database,
  host: string,
  authorities: readonly string[],
): { readonly servername: string; readonly ca: readonly string[] } {
  return { servername: tls.serverName ?? host, ca: [...authorities, ...tls.caPem, ...(tls.trustsSystem ? trustedRoots() : [])] };
}

/**
 * PostgreSQL before 18 knows only P-256: with a key share of OpenSSL's first choice alone it asks for another one, and each login takes one more round trip. A
 * server that prefers the post-quantum group asks for it.
 */
const groups = "*P-256:*X25519:X25519MLKEM768:P-384:P-521";

interface Handshake {
  readonly socket: Socket;
  readonly alpn: readonly string[];
  readonly host: string;
  readonly credentials: ServerCredentials;
  readonly signal: AbortSignal;
  /** The handshake is completed whatever the server's certificate is. */
  readonly finishes: boolean;
}

interface Secured {
  readonly secure: TLSSocket;
  /** Why the server's certificate is not accepted. */
  readonly refusal: PlatformError | undefined;
}

async function secureServer(database: Database, { socket, alpn, host, credentials, signal, finishes }: Handshake): Promise<Secured> {
  const { tls, name } = database;
  const { certificate, privateKey, authorities } = credentials;
  using attempt = new Attempt({ timeoutMs: handshakeMs, signal });
  const options = {
    ...serverTls(database, host, authorities),
    alpn,
    certificate,
    privateKey,
    insecure: finishes || tls.mode !== "verify-full",
    groups,
  };
  const peer = `the server of database ${name}`;
  const hint = "check the server's certificate (tctl auth sign --format=db) and the database's tls settings";
  const secure = await startTls(socket, options, { attempt, peer, hint }).catch((cause: unknown) => {
    throw unsecured(toPlatformError(cause), hint);
  });
  return { secure, refusal: judgeServer(database, secure, { peer, hint }) };
}

/** The refusal of a server's certificate once TLS stands, `unavailable`; undefined: the database's TLS settings accept it. */
export function judgeServer(
  { tls }: Database,
  secure: TLSSocket,
  { peer, hint }: { readonly peer: string; readonly hint: string },
): PlatformError | undefined {
  const code = String(secure.authorizationError ?? "");
  const isName = code === "ERR_TLS_CERT_ALTNAME_INVALID";
  if (secure.authorized || tls.mode === "insecure" || (tls.mode === "verify-ca" && isName)) return undefined;
  return unsecured(tlsError(Object.assign(new Error(code), { code }), { peer, hint, issuer: issuerOf(secure) }), hint);
}

/** The fault is not the user's certificate, and not the address that the user stated. */
function unsecured(error: PlatformError, hint: string): PlatformError {
  if (error.code !== "unauthenticated") return error;
  return new PlatformError("unavailable", error.message, { cause: error, hint });
}
