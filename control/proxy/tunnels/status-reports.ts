import type { AuthClient } from "../../../core/api/auth-client.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { reportOffered, reportUp } from "./report-node.ts";
import type { Tunnel } from "./tunnel.ts";

/** Minimum interval between two reports of one host, ms; only the last change in between is reported. */
const apartMs = 5_000;

type Reporting = Pick<Tunnel, "identity" | "facts" | "peer" | "ended" | "sharesName">;

/** Forwards hosts' reports about themselves while their tunnels are up. */
export class StatusReports {
  readonly #auth: AuthClient;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** Host id → the tunnel with the next status; undefined: the host has just been reported. */
  readonly #waiting = new Map<string, { next: Reporting | undefined }>();

  constructor({ auth, log, signal }: { auth: AuthClient; log: Log; signal: AbortSignal }) {
    this.#auth = auth;
    this.#log = log;
    this.#signal = signal;
  }

  /** Reports a host's changed status now, or as soon as the last report is old enough. */
  changed(tunnel: Reporting): void {
    const { id } = tunnel.identity;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.next = tunnel;
    else this.#report(id, tunnel);
  }

  /** Reports a host's changed resources. */
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
      // It is reported again when the auth service is back.
      this.#log.debug("could not report a host's status", { host: id, error: errorText(error) });
    });
    setTimeout(() => {
      this.#waiting.delete(id);
      if (entry.next !== undefined) this.#report(id, entry.next);
    }, apartMs).unref();
  }
}
