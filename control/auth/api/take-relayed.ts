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
  /** Of the proxy. */
  readonly remoteAddress: string;
  /** Takes the client's own TLS. */
  readonly accept: (stream: Duplex, remoteAddress: string) => void;
}

/** For the header, ms. */
const headerMs = 10_000;

/** A client that a proxy on another host relays, with the client's address, which counts because a proxy's certificate says it. Never throws. */
export async function takeRelayed(tls: TLSSocket, peer: Caller | PlatformError, { context, remoteAddress, accept }: Relayed): Promise<void> {
  try {
    if (peer instanceof PlatformError) throw peer;
    if (peer.kind !== "host" || peer.identity.role !== "proxy") throw new PlatformError("denied", "only proxies relay clients");
    await requireHost(context.storage, "proxy", peer.identity.id);
    const header = await readFrame(tls, { maxLength: maxRelayHeader, timeoutMs: headerMs, what: "relay header" });
    accept(tls, decodeRelayHeader(header).clientAddress);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    context.log.info("a relayed connection was refused", { peer: remoteAddress, code: error.code, error });
    tls.destroy();
  }
}
