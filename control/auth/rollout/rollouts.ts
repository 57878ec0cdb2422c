import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ChannelAnswer } from "../../../core/resources/channel-report.ts";
import type { Maintenance } from "../../../core/resources/maintenance.ts";
import { windowAfter } from "../../../core/resources/maintenance-windows.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { UpgradePlan } from "../../../core/resources/upgrade-plan.ts";
import type { UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { parseVersion } from "../../../core/versions/compare-versions.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../document.ts";
import type { LiveChannels } from "../inventory/live-channels.ts";
import { auditOf, changeRollouts, type RolloutAction } from "./change-rollout.ts";
import { findTarget, type TargetAnswer } from "./find-target.ts";
import { findMaintenance } from "./maintenance.ts";
import { type ChannelNow, makePlan } from "./make-plan.ts";
import { nextRollout, type RolloutEvent } from "./next-rollout.ts";
import { type RolloutHost, toRolloutHost, withoutV } from "./rollout-host.ts";
import { type RolloutState, RolloutStates } from "./rollout-state.ts";
import { findRollout } from "./rollout-store.ts";

export interface RolloutsDeps {
  readonly storage: Storage;
  readonly channels: LiveChannels;
  readonly audit: AuditLog;
  readonly log: Log;
  readonly now: () => Date;
  /** Problems of channels, a sentence each. */
  readonly channelWarnings: () => readonly string[];
  /** The inventory, with live state. */
  readonly nodes: () => Promise<readonly Node[]>;
}

export interface TargetsAsk {
  readonly channel: string;
  readonly hostIds: readonly string[];
  /** The answer of the requesting proxy's channel. */
  readonly version: string;
  readonly critical: boolean;
}

interface PlanAsk {
  /** Empty: all. */
  readonly channel: string;
  readonly version: string;
  readonly brief: boolean;
}

type ChannelHost = RolloutHost & { readonly channel: string };

/** The roll-outs of all channels: checked by a timer and after changes, so that a host's request costs one map access. */
export class Rollouts {
  readonly #deps: RolloutsDeps;
  /** Time of the first check: before it nothing is known, and another process may serve. */
  #started: number | undefined;
  #spec: UpgradeRollout["spec"] | undefined;
  #maintenance: Maintenance | undefined;
  readonly #states: RolloutStates;
  #hosts: ReadonlyMap<string, ChannelHost> = new Map();
  /** Versions as of the last stored check. */
  #versions: ReadonlyMap<string, string> = new Map();
  /** The last request of each host of the inventory, and its answer. */
  readonly #asked = new Map<string, string>();
  readonly #offered = new Map<string, number>();
  /** One check or change at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: RolloutsDeps) {
    this.#deps = deps;
    this.#states = new RolloutStates(deps);
  }

  /** State of each channel, as of the last check. */
  standing(): UpgradePlan {
    return this.#plan({ channel: "", version: "", brief: true });
  }

  /** Checks the hosts of active roll-outs, and takes the next steps. Never throws: a failure is logged and retried at the next check. */
  look(ask: { readonly hosts: "always" | "for a roll-out" } = { hosts: "for a roll-out" }): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#look(ask.hosts === "always");
      } catch (error) {
        const isLate = error instanceof PlatformError && (error.code === "conflict" || error.code === "already_exists");
        this.#deps.log[isLate ? "info" : "error"]("could not check the roll-outs", { error: errorText(error) });
      }
    });
  }

  /** The version that each of these hosts should have now, in their order. */
  targets({ channel, hostIds, version, critical }: TargetsAsk): readonly TargetAnswer[] {
    const { channels, now } = this.#deps;
    if (this.#started === undefined) {
      return hostIds.map(() => ({ version: "", critical: false, held: "held by the roll-out: the auth service has just started" }));
    }
    const at = now().getTime();
    const facts = {
      channel,
      version,
      critical,
      spec: this.#spec,
      state: this.#states.get(channel),
      channelVersions: channels.versions(channel),
      now: at,
    };
    const inWindow = (this.#window(at)?.start ?? at + 1) <= at;
    return hostIds.map((hostId) => {
      const host = this.#hosts.get(hostId);
      const answer = findTarget({ ...facts, hostId, host });
      if (host === undefined) return answer;
      this.#asked.set(hostId, channel);
      const mayAct = answer.critical || inWindow;
      if (answer.version !== "" && answer.held === "" && mayAct) this.#offered.set(hostId, at);
      return answer;
    });
  }

  /** `version`: assumed answer of the channel. Throws `invalid`, `not_found`. */
  async plan(ask: PlanAsk): Promise<UpgradePlan> {
    await this.look({ hosts: "always" });
    return this.#plan(ask);
  }

  #plan({ channel, version, brief }: PlanAsk): UpgradePlan {
    if (version !== "" && parseVersion(version) === undefined)
      throw new PlatformError("invalid", `${JSON.stringify(version.slice(0, 64))} is not a version`);
    const warnings = this.#deps.channelWarnings();
    const names = channel === "" ? this.#channelNames() : [channel];
    const channels = names.flatMap((name) => this.#channelNow(name, withoutV(version)));
    if (channel !== "" && channels.length === 0)
      throw new PlatformError("not_found", `no proxy has reported a version of channel ${channel}, or the channel answers none`, {
        hint: warnings[0] ?? "see tctl status",
      });
    const window = (after: number) => this.#window(after);
    return makePlan({ channels, spec: this.#spec, window, now: this.#deps.now().getTime(), brief, warnings });
  }

  /** Pauses, resumes or promotes; then takes the next step. Throws `conflict`, `invalid`, `not_found`. */
  async change({ action, channel, group, actor }: { action: RolloutAction; channel: string; group: string; actor: Actor }): Promise<UpgradePlan> {
    await this.look();
    await this.#inTurn(async () => {
      const spec = this.#spec;
      if (spec === undefined) throw new PlatformError("not_found", "there is no upgrade_rollout", { hint: "create one with: tctl create <file>" });
      const states = this.#states.all().filter((state) => channel === "" || state.channel === channel);
      if (states.length === 0)
        throw new PlatformError("not_found", channel === "" ? "no roll-out has started" : `channel ${channel} has no roll-out`);
      for (const next of changeRollouts(states, { action, group, by: actor.name, spec, now: this.#deps.now().getTime() })) {
        await this.#states.keep(next);
        const [event, more] = auditOf[action];
        this.#deps.audit.emit({
          event,
          name: next.channel,
          version: next.version,
          user: actor.name,
          "addr.remote": actor.address,
          ...(more && group !== "" && { reason: `through group ${group}` }),
        });
      }
    });
    return await this.plan({ channel, version: "", brief: true });
  }

  async #look(always: boolean): Promise<void> {
    const { storage, nodes, now } = this.#deps;
    await this.#states.load();
    this.#spec = (await findRollout(storage))?.spec;
    this.#maintenance = await findMaintenance(storage);
    const started = this.#started ?? now().getTime();
    this.#started = started;
    if (this.#spec === undefined) await this.#states.forget();
    // Without a roll-out, ten thousand hosts need not be read every few seconds.
    if (this.#spec === undefined && !always) {
      this.#hosts = new Map();
      this.#versions = new Map();
      return;
    }
    const hosts = (await nodes()).map((node) => {
      const id = node.metadata.name;
      return toRolloutHost(node, { started, asked: this.#asked.get(id), offered: this.#offered.get(id) });
    });
    this.#hosts = new Map(hosts.map((host) => [host.id, host]));
    for (const known of [this.#asked, this.#offered]) for (const id of known.keys()) if (!this.#hosts.has(id)) known.delete(id);
    if (this.#spec !== undefined) await this.#bringOn(this.#spec, hosts);
    this.#versions = new Map(hosts.map(({ id, version }) => [id, version]));
  }

  async #bringOn(spec: UpgradeRollout["spec"], hosts: readonly ChannelHost[]): Promise<void> {
    const members = Map.groupBy(hosts, ({ channel }) => channel);
    for (const channel of this.#channelNames()) {
      const answer = this.#answer(channel);
      if (answer === undefined || answer.version === "none") continue;
      const last = this.#states.get(channel);
      const facts = {
        channel,
        target: withoutV(answer.version),
        critical: answer.critical,
        spec,
        before: this.#versions,
        now: this.#deps.now().getTime(),
      };
      const { state, events } = nextRollout(last, { ...facts, hosts: members.get(channel) ?? [] });
      if (last === undefined || JSON.stringify(last) !== JSON.stringify(state)) await this.#states.keep(state);
      this.#tell(state, events);
    }
  }

  /** While proxies disagree, no new version starts: the current one continues, as if it were still the answer. */
  #answer(channel: string): Pick<ChannelAnswer, "version" | "critical"> | undefined {
    const { channels } = this.#deps;
    const answer = channels.answer(channel);
    if (answer === undefined || channels.versions(channel).length <= 1) return answer;
    const state = this.#states.get(channel);
    if (state === undefined) return undefined;
    return { version: `v${state.version}`, critical: answer.critical && withoutV(answer.version) === state.version };
  }

  #channelNames(): readonly string[] {
    const asked = [...this.#hosts.values()].map(({ channel }) => channel);
    return [...new Set([...asked, ...this.#states.all().map((state) => state.channel)])].sort();
  }

  #channelNow(channel: string, version: string): readonly ChannelNow[] {
    const answer = this.#answer(channel) ?? this.#deps.channels.answer(channel);
    const target = version === "" ? withoutV(answer?.version ?? "none") : version;
    if (target === "none") return [];
    const critical = answer?.critical ?? false;
    const hosts = [...this.#hosts.values()].filter((host) => host.channel === channel);
    const last = this.#states.get(channel);
    const spec = this.#spec;
    if (spec === undefined) return [{ channel, target, critical, hosts }];
    const { state } = nextRollout(last, { channel, target, critical, spec, hosts, before: new Map(), now: this.#deps.now().getTime() });
    return [{ channel, target, critical, hosts, state }];
  }

  #tell({ channel, version, phase, group }: RolloutState, events: readonly RolloutEvent[]): void {
    const { audit, log } = this.#deps;
    for (const { event, why } of events) {
      audit.emit({ event: `rollout.${event}`, name: channel, version, ...(why !== undefined && { reason: why }) });
      log[event === "stopped" ? "warn" : "info"](`roll-out ${event}`, { channel, version: `v${version}`, phase, group, why });
    }
  }

  #window(after: number): { readonly start: number; readonly stop: number } | undefined {
    return this.#maintenance === undefined ? undefined : windowAfter(this.#maintenance, after);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return await mine;
  }
}
