import { createHash } from "node:crypto";
import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";

/** What is configured for a channel; `own`: it serves the proxy's own version. */
export type PlannedChannel = UpgradeChannel | "own";

/**
 * All channels that exist: `default` and `stable/cloud` always, each standing in for the other where only one is configured,
 * and for the proxy's own version where none is.
 */
export function planChannels(configured: Readonly<Record<string, UpgradeChannel>>): ReadonlyMap<string, PlannedChannel> {
  const channels = new Map<string, PlannedChannel>(Object.entries(configured));
  const standard = channels.get("default") ?? channels.get("stable/cloud") ?? "own";
  if (!channels.has("default")) channels.set("default", standard);
  if (!channels.has("stable/cloud")) channels.set("stable/cloud", standard);
  return channels;
}

/** `sha256:<hex>`: equal for equal channels, whatever their order in the file. */
export function channelsDigest(channels: ReadonlyMap<string, PlannedChannel>): string {
  const facts = [...channels]
    .map(([name, channel]): readonly unknown[] => {
      if (channel === "own") return [name];
      if ("staticVersion" in channel) return [name, "static", channel.staticVersion, channel.critical];
      return [name, "forward", channel.forwardUrl, channel.critical ?? null];
    })
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return `sha256:${createHash("sha256").update(JSON.stringify(facts)).digest("hex")}`;
}
