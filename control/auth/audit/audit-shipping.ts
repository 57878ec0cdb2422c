import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { AuditDestination, StorageConfig } from "../../../core/config/audit-destination.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { backOffDelay } from "../../../core/transport/back-off.ts";
import { appendToFile } from "./append-to-file.ts";
import type { AuditStore } from "./audit-store.ts";

export interface AuditShippingOptions {
  /** Left out: no destinations. */
  readonly destinations: StorageConfig | undefined;
  readonly log: Log;
}

/** Interval of the search for new events, ms. */
const lookMs = 1_000;
/** Maximum number of events in one batch. */
const batch = 500;

/**
 * Ships every event to every destination, in order and at least once: an interrupted batch is sent again, with the same uids.
 * A failing destination delays only itself, and is reported in the log and in `tctl status`.
 */
export class AuditShipping {
  readonly #store: AuditStore;
  readonly #options: AuditShippingOptions;
  readonly #problems = new Map<string, { readonly since: Date; readonly why: string }>();

  constructor(store: AuditStore, options: AuditShippingOptions) {
    this.#store = store;
    this.#options = options;
  }

  warnings(): readonly string[] {
    return [...this.#problems].map(([uri, { since, why }]) => `audit events have not reached ${uri} since ${since.toISOString()}: ${why}`);
  }

  /** Runs until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { destinations } = this.#options;
    await Promise.all((destinations?.audit_events_uri ?? []).map((one) => this.#keepShipping(one, signal)));
  }

  async #keepShipping(destination: AuditDestination, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      let delay = lookMs;
      try {
        if (await this.#shipSome(destination)) delay = 0;
        this.#recovered(destination);
        failures = 0;
      } catch (thrown) {
        failures += 1;
        this.#failed(destination, errorText(thrown));
        delay = backOffDelay(failures, Math.random());
      }
      await sleep(delay, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Whether there may be more. */
  async #shipSome(destination: AuditDestination): Promise<boolean> {
    const { lines, cursor, resume } = await this.#store.list({ cursor: this.#store.shipped(destination.uri), limit: batch });
    if (lines.length === 0) return false;
    await this.#send(destination, lines);
    this.#store.markShipped(destination.uri, resume);
    return cursor !== "";
  }

  async #send(destination: AuditDestination, lines: readonly string[]): Promise<void> {
    if (destination.kind === "journald") return await sendToJournal(destination.socket, lines);
    const { audit_file_size: maxBytes = Number.POSITIVE_INFINITY, audit_files: keep = 1 } = this.#options.destinations ?? {};
    await appendToFile({ path: destination.path, maxBytes, keep }, lines);
  }

  #failed({ uri }: AuditDestination, why: string): void {
    const known = this.#problems.get(uri);
    this.#problems.set(uri, { since: known?.since ?? new Date(), why });
    if (known?.why !== why) this.#options.log.error("could not ship audit events; they are kept and retried", { to: uri, error: why });
  }

  #recovered({ uri }: AuditDestination): void {
    if (this.#problems.delete(uri)) this.#options.log.info("shipping of audit events works again", { to: uri });
  }
}

/** Time for journald to accept a batch, ms. */
const limitMs = 15_000;

/** Our identifier for `journalctl -t`. */
const identifier = "platform-audit";
/** Priority of syslog(3): informational. */
const priority = 6;

/**
 * One entry for each line, over the same stream as the output of services (systemd-journald.service(8)): identifier,
 * unit, priority, then whether lines have a level and go to syslog, kmsg and consoles. Resolves when journald has read it all.
 */
export async function sendToJournal(path: string, lines: readonly string[]): Promise<void> {
  const socket = connect(path);
  const signal = AbortSignal.timeout(limitMs);
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal });
    const closed = once(socket, "close", { signal });
    // It closes its end after reading all of ours, and sends nothing.
    socket.resume();
    socket.end(`${identifier}\n\n${priority}\n0\n0\n0\n0\n${lines.join("\n")}\n`);
    const [hadError] = (await closed) as [boolean];
    if (hadError) throw new Error(`${path} did not accept all of the batch`);
  } finally {
    socket.destroy();
  }
}
