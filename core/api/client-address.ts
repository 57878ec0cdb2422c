/**
 * Header of a call that a proxy makes for a client of its web API: the client's address, for audit and limits. It is only accepted from
 * hosts of role proxy.
 */
export const clientAddressHeader = "platform-client-address";

/** Options of a call on behalf of a client at `address` (`ip` or `ip:port`). */
export function onBehalfOf(address: string): { headers: Record<string, string> } {
  return { headers: { [clientAddressHeader]: address } };
}
