import type { RotationState } from "../../../core/resources/rotation.ts";
import { steps } from "./next-phase.ts";

const leastSeconds = 15;
/** A renewal takes this service some ms of processor time: at this pace logins and locks do not wait for renewals. */
const hostsPerSecond = 100;

/**
 * Time over which agents spread their renewals once the host authority signs with another key, whole seconds: longer for more hosts, and half of the phase at
 * most where the next one comes by itself. Pure.
 */
export function renewalSpread(hosts: number, { mode, grace_seconds: grace }: Pick<RotationState, "mode" | "grace_seconds">): number {
  const wanted = Math.max(leastSeconds, Math.ceil(hosts / hostsPerSecond));
  return mode === "automatic" && grace !== undefined ? Math.min(wanted, Math.max(1, Math.floor(grace / steps / 2))) : wanted;
}
