import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import { findHost } from "./host-records.ts";
import type { LiveNode, LiveNodes } from "./live-nodes.ts";

/** Duration of a new tunnel after which a host is no longer gone, ms: an unstable one does not cause a stream of events. */
const backAfterMs = 5_000;
const prefix = "/presence/";

const absenceSchema = z.object({ kind: z.enum(["gone", "stopped"]), hostname: z.string(), since: z.int() });
export type Absence = z.infer<typeof absenceSchema>;

interface PresenceDeps {
  readonly storage: Storage;
  readonly live: LiveNodes;
  readonly audit: AuditLog;
  readonly log: Log;
  readonly now: () => Date;
}

/** Watches which hosts are gone or stopped, and reports them to the log, the audit log, the metrics and the admin. Kept across restarts. */
export class PresenceWatch {
  readonly #deps: PresenceDeps;
  /** Time of the first check: before it another process may have served. */
  #started: number;
  readonly #absent = new Map<string, Absence>();
  #state: "new" | "loaded" | "settled" = "new";
  /** One check at a time. */
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
    this.#started = deps.now().getTime();
  }

  /** By id. */
  get absent(): ReadonlyMap<string, Absence> {
    return this.#absent;
  }

  /** The node was removed. Its record goes with `presenceKey`. */
  forget(id: string): void {
    this.#absent.delete(id);
  }

  /** Call this every second. Never throws. */
  look(): Promise<void> {
    const failed = (error: unknown): void => this.#deps.log.error("could not check the hosts' presence", { error: errorText(error) });
    this.#turn = this.#turn.then(() => this.#look()).catch(failed);
    return this.#turn;
  }

  async #look(): Promise<void> {
    const now = this.#deps.now().getTime();
    if (this.#state === "new") {
      this.#started = now;
      await this.#load();
    }
    for (const [id, live] of this.#deps.live.all()) await this.#judge(id, live, now);
    if (this.#state === "settled" || now - this.#started < settleMs) return;
    for (const { key } of await this.#deps.storage.list("/node/")) {
      const id = decodeURIComponent(key.slice("/node/".length));
      if (this.#deps.live.get(id) === undefined) await this.#judge(id, undefined, now);
    }
    this.#state = "settled";
  }

  async #load(): Promise<void> {
    for (const { key, value } of await this.#deps.storage.list(prefix)) {
      const parsed = absenceSchema.safeParse(JSON.parse(value));
      if (parsed.success) this.#absent.set(decodeURIComponent(key.slice(prefix.length)), parsed.data);
    }
    this.#state = "loaded";
  }

  async #judge(id: string, live: LiveNode | undefined, now: number): Promise<void> {
    const known = this.#absent.get(id);
    const presence = presenceOf(live, { recorded: known?.kind, started: this.#started, now });
    if (presence === "connected" && known !== undefined) {
      const lasted = now - (live?.since.getTime() ?? now);
      if (known.kind === "stopped" || lasted >= backAfterMs) await this.#back(id, known);
    }
    if (presence !== "gone" && presence !== "stopped") return;
    if (known?.kind === presence) return;
    const host = await findHost(this.#deps.storage, "node", id);
    // Removed meanwhile.
    if (host === undefined) return;
    const since = live?.since.getTime() ?? this.#started;
    await this.#leave(id, { kind: presence, hostname: host.spec.hostname, since }, live);
  }

  async #leave(id: string, absence: Absence, live: LiveNode | undefined): Promise<void> {
    const { storage, audit, log } = this.#deps;
    await storage.put({ key: presenceKey(id), value: JSON.stringify(absence) });
    this.#absent.set(id, absence);
    // A removal before the record was written did not see it; a later removal deletes it.
    if ((await findHost(storage, "node", id)) === undefined) {
      await storage.delete(presenceKey(id));
      this.#absent.delete(id);
      return;
    }
    const about = { host: id, name: absence.hostname, since: new Date(absence.since).toISOString() };
    if (absence.kind === "stopped") return log.info("agent has stopped", about);
    const reason =
      live === undefined ? "no report since the auth service started" : reasons[live.ending === "stopped" ? "closed" : (live.ending ?? "closed")];
    log.warn("agent is gone", { ...about, reason });
    audit.emit({ event: "agent.gone", server_id: id, server_name: absence.hostname, reason });
  }

  async #back(id: string, { kind, hostname }: Absence): Promise<void> {
    const { storage, audit, log } = this.#deps;
    await storage.delete(presenceKey(id));
    this.#absent.delete(id);
    if (kind === "stopped") return;
    log.info("agent is back", { host: id, name: hostname });
    audit.emit({ event: "agent.back", server_id: id, server_name: hostname });
  }
}

const reasons = {
  silent: "it did not respond for 20 s",
  closed: "its tunnel ended and was not replaced",
  lost: "its proxy is gone, and it has not connected to another one",
} as const;

export function presenceKey(id: string): string {
  return prefix + encodeURIComponent(id);
}

/**
 * `away`: without a tunnel, but not long enough to count as gone. `stopped`: its agent announced its stop.
 * `unknown`: no report since this service started.
 */
export type Presence = "connected" | "away" | "gone" | "stopped" | "unknown";

/**
 * Time without a tunnel after which a host counts as gone, ms. An agent that reloads or changes its network comes back within
 * seconds; the proxy waits 20 s before it reports one as silent; agents of a lost proxy need a while to find the next one.
 * Each is short enough that an alert names the host within 30 s of the loss.
 */
const graceMs = { silent: 0, closed: 15_000, lost: 25_000 } as const;
/** The same after a start, ms. */
const settleMs = 60_000;

/** The presence of a host. Pure. `recorded` was stored across a restart; times in ms. */
export function presenceOf(live: LiveNode | undefined, facts: { recorded: "gone" | "stopped" | undefined; started: number; now: number }): Presence {
  const { recorded, started, now } = facts;
  if (live === undefined) return recorded ?? (now - started >= settleMs ? "gone" : "unknown");
  if (live.connected) return "connected";
  const { ending = "closed" } = live;
  if (ending === "stopped") return "stopped";
  return now - live.since.getTime() >= graceMs[ending] ? "gone" : "away";
}

const named = 5;

/** For `tctl status`: "3 agents are gone: a, b, c". Empty when none is. Pure. */
export function goneWarnings(absent: Iterable<Absence>): readonly string[] {
  const gone = [...absent].filter(({ kind }) => kind === "gone").sort((a, b) => b.since - a.since);
  if (gone.length === 0) return [];
  const names = gone.slice(0, named).map(({ hostname }) => hostname);
  const more = gone.length > named ? ` and ${gone.length - named} more` : "";
  const [verb, them] = gone.length === 1 ? ["agent is", "it"] : ["agents are", "them"];
  return [`${gone.length} ${verb} gone: ${names.join(", ")}${more}; see tctl nodes ls, and remove ${them} with tctl nodes rm when that is right`];
}
