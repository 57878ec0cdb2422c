import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { silentMs } from "../../../core/transport/tunnel-message.ts";
import type { TunnelRegistry } from "./registry.ts";
import { reportGone, reportUp } from "./report-node.ts";
import type { Tunnel } from "./tunnel.ts";

type Heard = Pick<Tunnel, "identity" | "facts" | "peer" | "silentFor" | "ended" | "draining" | "send" | "end" | "streams" | "sharesName" | "offered">;

/** Reports hosts that stopped responding to the auth service, long before their tunnels are closed, and when they respond again. */
export class SilenceWatch {
  readonly #registry: TunnelRegistry<Heard>;
  readonly #deps: { readonly auth: AuthClient; readonly log: Log };
  /** Ids of reported hosts. */
  readonly #silent = new Set<string>();

  constructor(registry: TunnelRegistry<Heard>, deps: { auth: AuthClient; log: Log }) {
    this.#registry = registry;
    this.#deps = deps;
  }

  /** Call this every few seconds; `now` is the tunnels' clock. */
  look(now: number): void {
    for (const tunnel of this.#registry.all()) {
      const { id } = tunnel.identity;
      const isSilent = tunnel.silentFor(now) >= silentMs;
      if (isSilent && !this.#silent.has(id) && this.#registry.ofHost(id).every((other) => other.silentFor(now) >= silentMs)) this.#lost(tunnel);
      if (!isSilent && this.#silent.delete(id)) this.#heard(tunnel);
    }
    for (const id of this.#silent) if (this.#registry.ofHost(id).length === 0) this.#silent.delete(id);
  }

  #lost(tunnel: Heard): void {
    this.#silent.add(tunnel.identity.id);
    this.#deps.log.warn("agent stopped responding", { host: tunnel.identity.id, name: tunnel.facts.hostname });
    reportGone(tunnel, this.#deps, "silent");
  }

  #heard(tunnel: Heard): void {
    const { auth, log } = this.#deps;
    const host = tunnel.identity.id;
    log.info("agent is responding again", { host, name: tunnel.facts.hostname });
    reportUp(auth, tunnel).catch((error: unknown) => {
      log.warn("could not report a connected host", { host, error: errorText(error) });
    });
  }
}
