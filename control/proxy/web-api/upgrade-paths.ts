/** Paths of the version server; `/v1` is the documented one, the other is for old updaters. */
export const upgradePrefixes = ["/v1/webapi/automaticupgrades/channel/", "/webapi/automaticupgrades/channel/"] as const;

/** Age of an outdated answer in seconds: the upstream fails. */
export const staleHeader = "Platform-Upgrade-Stale";
/** Why this host should not have the channel's version now: a sentence. */
export const heldHeader = "Platform-Upgrade-Held";
/** The auth service's signature over the answer for a host. */
export const signedHeader = "Platform-Upgrade-Signed";
/** Why the answer is `none` although the channel has a version: a sentence. */
export const whyHeader = "Platform-Upgrade-Why";

/** The sentence of `whyHeader`. */
export function whyText(channel: string, why: string): string {
  return `channel ${channel} ${why}`.replace(/[^\x20-\x7e]+/g, " ").slice(0, 300);
}
