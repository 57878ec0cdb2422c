import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { tunnelledHostSchema } from "../../../core/resources/tunnelled-host.ts";
import type { TunnelRegistry } from "../tunnels/registry.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

/** A host with a tunnel to other proxies, but none here yet. */
export interface ElsewhereTarget {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  readonly elsewhere: readonly { readonly name: string; readonly addr: string }[];
}

/** Wait for the tunnel of a host, ms: agents connect to every proxy. */
export const elsewhereMs = 5_000;

/** Throws for a malformed answer of the auth service. */
export function readElsewhereTarget(json: string): ElsewhereTarget {
  const { id, hostname, labels, proxies } = tunnelledHostSchema.parse(JSON.parse(json));
  return { identity: { id }, facts: { hostname, labels }, elsewhere: proxies.map(({ name, addr }) => ({ name, addr })) };
}

/** The host's tunnel as soon as it is here. Throws `unavailable` with the proxies to which the host is connected. */
export async function awaitTunnel({ identity, facts, elsewhere }: ElsewhereTarget, registry: TunnelRegistry): Promise<Tunnel> {
  const tunnel = await registry.arrival(identity.id, elsewhereMs);
  if (tunnel !== undefined) return tunnel;
  const where = elsewhere.map(({ name, addr }) => (addr === "" ? name : `${name} (${addr})`)).join(", ");
  const other = elsewhere.find(({ addr }) => addr !== "")?.addr;
  throw new PlatformError("unavailable", `${facts.hostname} is connected to proxy ${where || "none"}, but not to this one yet`, {
    hint: `${other === undefined ? "try again shortly" : `try again in a moment, or use that proxy: tsh --proxy=${other}`}; \`platform doctor\` on the host shows why it could not reach this one`,
  });
}
