import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect, getCACertificates, type TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { makeTls } from "../../node-internals/make-tls.ts";
import { type Attempt, ignoreError } from "./attempt.ts";
import { issuerOf, tlsError } from "./connection-error.ts";
import { sharedContext } from "./shared-context.ts";

export interface TlsOptions {
  readonly alpn: readonly string[];
  /** The name, or address, for which the certificate must be issued. */
  readonly servername: string;
  /** PEM; omitted for the authorities that this machine trusts. */
  readonly ca?: readonly string[] | undefined;
  /** PEM, leaf first. */
  readonly certificate?: string | undefined;
  readonly privateKey?: string | undefined;
  /** Accepts any certificate; `authorized` of the socket tells whether it is issued by `ca`. */
  readonly insecure?: boolean | undefined;
  /** Of the key exchange; default: OpenSSL's own. */
  readonly groups?: string | undefined;
}

/**
 * TLS over a connected socket or another stream, which is destroyed when it fails. `peer` and `hint` go into errors.
 * The result has `ignoreError` as its only listener. Throws `unauthenticated`, `unavailable`, `timeout`, `invalid`.
 */
export async function startTls(
  socket: Duplex,
  tls: TlsOptions,
  { attempt, peer, hint }: { attempt: Attempt; peer: string; hint: string },
): Promise<TLSSocket> {
  attempt.waitingFor = `the TLS handshake with ${peer}`;
  let secure: TLSSocket;
  try {
    const options = connectionOptions(socket, tls);
    // Records of one byte, while nobody reads.
    secure = gatherPieces(makeTls(socket, () => connect(options)));
  } catch (cause) {
    socket.destroy();
    throw new PlatformError("invalid", `TLS to ${peer} cannot start: the certificate, its key or an authority is unusable`, { cause });
  }
  secure.on("error", ignoreError);
  // Before Node verifies the certificate: a refusal drops it.
  let issuer: string | undefined;
  secure.prependOnceListener("secure", () => {
    issuer = issuerOf(secure);
  });
  try {
    await attempt.next(secure, "secureConnect");
    return secure;
  } catch (thrown) {
    secure.destroy();
    socket.destroy();
    throw tlsError(thrown, { peer, hint, issuer });
  }
}

function connectionOptions(socket: Duplex, tls: TlsOptions): ConnectionOptions {
  const isAddress = isIP(tls.servername) !== 0;
  return {
    socket,
    // Node verifies the certificate for `servername`, or for `host` when that is empty: SNI cannot carry an address.
    host: tls.servername,
    servername: isAddress ? "" : tls.servername,
    ...(tls.alpn.length > 0 && { ALPNProtocols: alpnList(tls.alpn) }),
    rejectUnauthorized: tls.insecure !== true,
    secureContext: sharedContext({ ...tls, ca: tls.ca ?? (tls.insecure === true ? undefined : trustedRoots()) }),
  };
}

/** `u8 length | name`, each. Node would copy names or a buffer into its pool, and each connection would keep a whole slab of that. */
function alpnList(names: readonly string[]): DataView {
  const bytes = Uint8Array.from(names.flatMap((name) => [name.length, ...Buffer.from(name, "latin1")]));
  return new DataView(bytes.buffer);
}

let roots: readonly string[] | undefined;

/** The authorities that this machine trusts (its own store, or Node's list if it has none), PEM. */
export function trustedRoots(): readonly string[] {
  if (roots === undefined) {
    // A store has most of them twice, in a bundle and in separate files.
    const system = [...new Set(getCACertificates("system"))];
    roots = system.length > 0 ? system : getCACertificates("bundled");
  }
  return roots;
}
