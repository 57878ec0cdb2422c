import type { HostCredentials } from "./host-credentials.ts";
import { caPin } from "./trust.ts";

/**
 * Message and hint when the configured pins belong to another authority than this host's identity: the configuration names another cluster,
 * or the authority was rotated. Undefined when they fit, or there are none. Pure.
 */
export function otherCluster(held: HostCredentials, pins: readonly string[]): { readonly message: string; readonly hint: string } | undefined {
  const own = held.hostCaPem.map(caPin);
  if (pins.length === 0 || pins.some((pin) => own.includes(pin))) return undefined;
  const cluster = JSON.stringify(held.cluster);
  return {
    message: `this host belongs to cluster ${cluster} (host ${held.hostId}), and platform.ca_pin belongs to another authority`,
    hint: `to join the cluster of the configuration: systemctl stop platform; platform leave; systemctl start platform. If ${cluster} is right, its authority was rotated: set the pin that \`tctl status\` prints`,
  };
}
