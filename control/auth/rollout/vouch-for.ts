import type { AuthContext } from "../auth-context.ts";
import { findDoubt } from "./find-doubt.ts";
import type { TargetAnswer } from "./find-target.ts";

type Vouching = Pick<AuthContext, "rollouts" | "channels" | "authorities" | "upgradeChannels" | "now">;

interface TargetAsk {
  readonly channel: string;
  readonly hostId: string;
  /** The answer of the requesting proxy's channel. */
  readonly version: string;
  readonly critical: boolean;
}

/** The version that one host should have now, signed; no host gets an answer that the auth service does not vouch for. */
export function vouchFor(
  { rollouts, channels, authorities, upgradeChannels, now }: Vouching,
  ask: TargetAsk,
  proxy: string,
): TargetAnswer & { readonly signed: string } {
  const { channel, hostId: host, version, critical } = ask;
  const others = channels.answersOfOthers(proxy, channel);
  const doubt = findDoubt({ channel, asked: { version, critical }, others, own: upgradeChannels[channel] });
  const target = rollouts.target(ask);
  if (target.version === "" || target.version === "none") return { ...target, signed: "" };
  if (doubt !== undefined) return { version: "", critical: false, held: doubt, signed: "" };
  return { ...target, signed: authorities.signUpgrade({ host, channel, version: target.version, critical: target.critical }, now()) };
}
