import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeRelayHeader, maxRelayHeader } from "../../../core/transport/relay-header.ts";
import type { AuthContext } from "../auth-context.ts";
import { requireHost } from "../inventory/host-records.ts";
import type { Caller } from "./caller.ts";

export interface Relayed {
  readonly context: AuthContext;
  /** Certificate of the proxy. */
  readonly remoteAddress: string;
  /** Accepts the client's own TLS. */
  readonly accept: (stream: Duplex, remoteAddress: string) => void;
}

/** Time limit of the header, ms. */
const headerMs = 10_000;

/**
 * Serves a client relayed by a proxy on another host. The client's address in the header is trusted because a proxy's certificate vouches for it.
 * Never throws.
 */
export async function takeRelayed(tls: TLSSocket, peer: Caller | PlatformError, { context, remoteAddress, accept }: Relayed): Promise<void> {
  try {
    if (peer instanceof PlatformError) throw peer;
    if (peer.kind !== "host" || peer.identity.role !== "proxy") throw new PlatformError("denied", "only proxies may relay clients");
    await requireHost(context.storage, "proxy", peer.identity.id);
    const header = await readFrame(tls, { maxLength: maxRelayHeader, timeoutMs: headerMs, what: "relay header" });
    accept(tls, decodeRelayHeader(header).clientAddress);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    context.log.info("relayed connection refused", { peer: remoteAddress, code: error.code, error });
    tls.destroy();
  }
}
