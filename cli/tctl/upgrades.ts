import { readDocument } from "../../core/resources/document.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import { type ChannelPlan, type HostPlan, type UpgradePlan, upgradePlanDocument } from "../../core/resources/upgrade-plan.ts";
import type { UpgradeRollout } from "../../core/resources/upgrade-rollout.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderFacts, renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl upgrades plan`: which hosts are upgraded when, which are not, and why. */
export async function showPlan(call: Call): Promise<Result> {
  const { options } = call;
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.getUpgradePlan({ channel: options.text("channel") ?? "", version: options.text("to") ?? "", brief: false });
    const plan = readDocument(upgradePlanDocument, json);
    return { data: plan, text: planText(plan) };
  });
}

/** `tctl upgrades status`: the progress of each channel's version. */
export async function showStatus(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.getUpgradePlan({ channel: call.options.text("channel") ?? "", brief: true });
    const plan = readDocument(upgradePlanDocument, json);
    return { data: plan, text: statusText(plan) };
  });
}

/** `tctl upgrades pause | resume | promote`. */
export async function changeRollout(call: Call, action: "pause" | "resume" | "promote"): Promise<Result> {
  const { options } = call;
  return await withAdmin(call, async ({ client }) => {
    const { json } = await client.changeRollout({ action, group: options.text("group") ?? "", channel: options.text("channel") ?? "" });
    const plan = readDocument(upgradePlanDocument, json);
    const lines = plan.channels.map((channel) => `channel ${channel.channel}, v${channel.version}: ${standing(channel)}`);
    return { data: plan, text: lines.join("\n") };
  });
}

/** `tctl upgrades plan`: which hosts are upgraded when, and which are not; hosts with the version are only counted. */
export function planText(plan: UpgradePlan): string {
  const now = new Date(plan.at);
  return [head(plan), ...plan.channels.map((channel) => channelText(channel, plan, now))].join("\n\n");
}

function channelText(channel: ChannelPlan, plan: UpgradePlan, now: Date): string {
  const hosts = (plan.hosts ?? []).filter((host) => host.channel === channel.channel);
  const count = (verdict: HostPlan["verdict"]): number => hosts.filter((host) => host.verdict === verdict).length;
  const sum = `${count("goes")} go, ${count("stays")} stay, ${count("done")} have it`;
  const facts = renderFacts([...channelFacts(channel), ["Hosts", sum]]);
  const rows = hosts.filter(({ verdict }) => verdict !== "done").map((host) => hostRow(host, now));
  return rows.length === 0 ? facts : `${facts}\n\n${renderTable(["Hostname", "Group", "Current", "Target", "When", "Sessions", "Why"], rows, 90)}`;
}

function hostRow(host: HostPlan, now: Date): string[] {
  const { hostname, group = "", canary, current, target, verdict, when, sessions, why } = host;
  const time = verdict === "stays" || when === undefined ? "stays" : whenText(when, now);
  return [hostname, canary ? `${group} (canary)` : group, current, target, time, String(sessions), why];
}

function whenText(when: string, now: Date): string {
  return new Date(when) <= now ? "now" : `from ${minutes(when)}`;
}

/** `tctl upgrades status`. */
export function statusText(plan: UpgradePlan): string {
  const parts = [head(plan), ...plan.channels.map(stateText)];
  if (plan.channels.length > 0) return parts.join("\n\n");
  const none = "No channel has a version: no proxy has reported yet, or all answer `none`.";
  return plan.warnings === undefined ? none : [...parts, none].join("\n\n");
}

function stateText(channel: ChannelPlan): string {
  const parts = [renderFacts(channelFacts(channel))];
  if (channel.groups.length > 0) {
    const rows = channel.groups.map(({ name, hosts, done, released, left_out: leftOut, canaries }) => [
      name,
      String(hosts),
      String(done),
      String(released),
      String(leftOut),
      canaries.join(","),
    ]);
    parts.push(renderTable(["Group", "Hosts", "Have it", "May take it", "Left out", "Canaries"], rows, 60));
  }
  if (channel.failed.length > 0) {
    const rows = channel.failed.map(({ hostname, at, why }) => [hostname, minutes(at), why]);
    parts.push(renderTable(["Failed", "Noticed", "Why"], rows));
  }
  return parts.join("\n\n");
}

function channelFacts(channel: ChannelPlan): readonly (readonly [string, string])[] {
  const version = `v${channel.version}${channel.critical ? ", critical" : ""}${channel.back ? ", which rolls back a newer one" : ""}`;
  return [
    ["Channel", channel.channel],
    ["Version", version],
    ["State", standing(channel)],
  ];
}

/** The state of the roll-out, in words. */
export function standing({ phase, group = "", since, until, paused, stopped, frozen }: ChannelPlan): string {
  if (phase === undefined) return "no upgrade_rollout: every host upgrades in its own maintenance window";
  const place =
    phase === "done" ? "every group has it" : group === "" ? `all groups at once, since ${minutes(since)}` : inGroup({ phase, group, since, until });
  if (stopped !== undefined) return `STOPPED since ${minutes(stopped.since)}: ${stopped.why} (${place})`;
  if (paused !== undefined) return `paused by ${paused.by} since ${minutes(paused.since)} (${place})`;
  if (frozen !== undefined) return `frozen until ${minutes(frozen.until)}${frozen.reason === undefined ? "" : `: ${frozen.reason}`} (${place})`;
  return place;
}

function inGroup({ phase, group, since, until }: { phase: string; group: string; since: string | undefined; until: string | undefined }): string {
  if (phase === "waiting") return `group ${group} waits until ${minutes(until)}`;
  return phase === "canaries" ? `canaries of group ${group}, since ${minutes(since)}` : `group ${group}, since ${minutes(since)}`;
}

function head(plan: UpgradePlan): string {
  return [windowText(plan), ...(plan.warnings ?? []).map((warning) => `Warning: ${warning}`)].join("\n");
}

function windowText({ window, at }: UpgradePlan): string {
  if (window === undefined) return "Window:  none (create a cluster_maintenance_config): only critical versions are installed";
  const open = new Date(window.start) <= new Date(at);
  const left = Math.max(0, Date.parse(open ? window.stop : window.start) - Date.parse(at)) / 1000;
  return `Window:  ${minutes(window.start)} to ${minutes(window.stop)} (${open ? "open for" : "in"} ${formatDuration(left)})`;
}

/** `2026-11-20 02:00 UTC`. */
function minutes(time: string | undefined): string {
  return time === undefined ? "?" : `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** `tctl get upgrade_rollout --format=text`. */
export function rolloutTable(documents: readonly UpgradeRollout[]): string {
  const rows = documents.flatMap(({ spec }) =>
    spec.groups.map(({ name, labels, canaries, wait }) => [name, JSON.stringify(labels), String(canaries), wait]),
  );
  return renderTable(["Group", "Labels", "Canaries", "Wait"], rows);
}
