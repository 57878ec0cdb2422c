import type { PlatformError } from "../../errors/platform-error.ts";
import { errorCode } from "../dial/connection-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";

/** A way to a web port. `direct`: TLS arrives at the proxy as it is; `upgrade`: something in front of it ends TLS. */
export type WebPortWay =
  | { readonly kind: "direct" }
  /** `after`: the failure of a direct handshake, where no handshake has succeeded this way yet. */
  | { readonly kind: "upgrade"; readonly after?: PlatformError };

/** Time for which an answer counts, ms: networks change. */
const rememberedMs = 600_000;
/** Addresses whose way is remembered. */
const maxAddresses = 256;

/** The ways that have led to the web ports of proxies, by address, for a limited time. */
export class WebPortWays {
  readonly #clock: () => number;
  readonly #known = new Map<string, { readonly way: WebPortWay; readonly until: number }>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Undefined: not known, or no longer. */
  find(target: HostPort): WebPortWay | undefined {
    const known = this.#known.get(formatHostPort(target));
    return known !== undefined && this.#clock() < known.until ? known.way : undefined;
  }

  remember(target: HostPort, way: WebPortWay): void {
    const address = formatHostPort(target);
    this.#known.delete(address);
    this.#known.set(address, { way, until: this.#clock() + rememberedMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxAddresses && oldest !== undefined) this.#known.delete(oldest);
  }

  forget(target: HostPort): void {
    this.#known.delete(formatHostPort(target));
  }
}

/** Faults of a certificate of the right authority, and of a peer that speaks no TLS at all. */
const otherFaults: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
]);

/**
 * Whether a failed direct handshake may be the work of something that ends TLS in front of the proxy: its certificate is of another authority, it refuses our
 * protocol or version, or, unless this way has led to the proxy before, it just ends the connection. Pure.
 */
export function maybeEndedBefore({ code, cause }: PlatformError, known: WebPortWay | undefined): boolean {
  const why = errorCode(cause);
  if (code === "timeout" || otherFaults.has(why)) return false;
  if (code === "unauthenticated" || /^(ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_)/.test(why)) return true;
  return code === "unavailable" && known?.kind !== "direct";
}
