import type { ReportedEvent } from "../../../core/audit/audit-event.ts";
import type { Log } from "../../../core/log/log.ts";

/** Maximum number of hosts that are remembered; the one that was heard of first is forgotten first. */
const maxHosts = 10_000;
/** Maximum number of fields of one host, each with a line in the log. */
const maxFields = 16;
/** Longest name of a field in the log, characters. */
const maxName = 64;

/** Fields of hosts' audit events that were left out because this version does not know them: once for each host and name, a line in the log. */
export class DroppedFields {
  readonly #log: Pick<Log, "warn">;
  readonly #hosts = new Map<string, Set<string>>();

  constructor(log: Pick<Log, "warn">) {
    this.#log = log;
  }

  note(hostId: string, { event: { event }, dropped }: ReportedEvent): void {
    if (dropped.length === 0) return;
    const known = this.#hosts.get(hostId) ?? this.#remember(hostId);
    for (const name of dropped) {
      const field = name.slice(0, maxName);
      if (known.has(field) || known.size > maxFields) continue;
      known.add(field);
      const facts = { host: hostId, event };
      if (known.size > maxFields) this.#log.warn("further unknown fields of audit events of this host are left out without a line each", facts);
      else this.#log.warn("an audit event of a host is kept without a field that is unknown here: the host may be newer", { ...facts, field });
    }
  }

  #remember(hostId: string): Set<string> {
    const [oldest] = this.#hosts.keys();
    if (oldest !== undefined && this.#hosts.size >= maxHosts) this.#hosts.delete(oldest);
    const known = new Set<string>();
    this.#hosts.set(hostId, known);
    return known;
  }
}
