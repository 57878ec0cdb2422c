import { formatDuration } from "../../core/resources/duration.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import { loginsOf, type ProfileFacts } from "../profile/profile.ts";
import { renderFacts } from "../table.ts";

export interface DescribedProfile {
  /** Labels of the reference's `tsh status`. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export function describeProfile(facts: ProfileFacts, now: Date): DescribedProfile {
  const left = Math.floor((facts.validUntil.getTime() - now.getTime()) / 1000);
  const valid = left > 0 ? `valid for ${formatDuration(left)}` : "EXPIRED";
  const profileUrl = `https://${formatHostPort(facts.proxy)}`;
  const text = renderFacts([
    ["> Profile URL", profileUrl],
    ["  Logged in as", facts.user],
    ["  Cluster", facts.cluster],
    ["  Roles", facts.roles.join(", ")],
    ["  Logins", loginsOf(facts).join(", ") || "(none)"],
    ["  Valid until", `${facts.validUntil.toISOString()} [${valid}]`],
  ]);
  const data = {
    profile_url: profileUrl,
    username: facts.user,
    cluster: facts.cluster,
    roles: facts.roles,
    traits: facts.traits,
    logins: loginsOf(facts),
    kubernetes_enabled: false,
    valid_until: facts.validUntil.toISOString(),
    expired: left <= 0,
  };
  return { data, text };
}
