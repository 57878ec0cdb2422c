import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { reportOffered, reportUp } from "./report-node.ts";
import type { Tunnel } from "./tunnel.ts";

/** Between two reports of one host, ms; of several changes in between the last one is reported. */
const apartMs = 5_000;

type Reporting = Pick<Tunnel, "identity" | "facts" | "peer" | "ended" | "sharesName">;

/** Passes on what hosts say of themselves while their tunnels are up. */
export class StatusReports {
  readonly #auth: AuthClient;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** Host id → the tunnel whose status comes next; with nothing the host has just been reported. */
  readonly #waiting = new Map<string, { next: Reporting | undefined }>();

  constructor({ auth, log, signal }: { auth: AuthClient; log: Log; signal: AbortSignal }) {
    this.#auth = auth;
    this.#log = log;
    this.#signal = signal;
  }

  /** The host's status has changed: reports it now, or as soon as the last report is long enough ago. */
  changed(tunnel: Reporting): void {
    const { id } = tunnel.identity;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.next = tunnel;
    else this.#report(id, tunnel);
  }

  /** The host offers other resources. */
  offered({ identity, offered }: Pick<Tunnel, "identity" | "offered">): void {
    reportOffered(this.#auth, { identity, offered }).catch((error: unknown) => {
      this.#log.debug("could not report the resources of a host", { host: identity.id, error: errorText(error) });
    });
  }

  #report(id: string, tunnel: Reporting): void {
    if (this.#signal.aborted || tunnel.ended) return;
    const entry: { next: Reporting | undefined } = { next: undefined };
    this.#waiting.set(id, entry);
    reportUp(this.#auth, tunnel).catch((error: unknown) => {
      // The auth service is told again when it is back.
      this.#log.debug("a host's status could not be reported", { host: id, error: errorText(error) });
    });
    setTimeout(() => {
      this.#waiting.delete(id);
      if (entry.next !== undefined) this.#report(id, entry.next);
    }, apartMs).unref();
  }
}
