import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { tunnelledHostSchema } from "../../../core/resources/tunnelled-host.ts";
import type { TunnelRegistry } from "../tunnels/registry.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

/** A host that has a tunnel to other proxies, and none here yet. */
export interface ElsewhereTarget {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  readonly elsewhere: readonly { readonly name: string; readonly addr: string }[];
}

/** Agents come to every proxy: who asks for one that is about to come waits so long, ms. */
export const elsewhereMs = 5_000;

/** Throws for what the auth service cannot have sent. */
export function readElsewhereTarget(json: string): ElsewhereTarget {
  const { id, hostname, labels, proxies } = tunnelledHostSchema.parse(JSON.parse(json));
  return { identity: { id }, facts: { hostname, labels }, elsewhere: proxies.map(({ name, addr }) => ({ name, addr })) };
}

/** The host's tunnel as soon as it is here. Throws `unavailable`, which says where the host is connected. */
export async function awaitTunnel({ identity, facts, elsewhere }: ElsewhereTarget, registry: TunnelRegistry): Promise<Tunnel> {
  const tunnel = await registry.arrival(identity.id, elsewhereMs);
  if (tunnel !== undefined) return tunnel;
  const where = elsewhere.map(({ name, addr }) => (addr === "" ? name : `${name} (${addr})`)).join(", ");
  const other = elsewhere.find(({ addr }) => addr !== "")?.addr;
  throw new PlatformError("unavailable", `${facts.hostname} is connected to proxy ${where || "none"}, and not to this one yet`, {
    hint: `${other === undefined ? "try again in a moment" : `try again in a moment, or go through that proxy: tsh --proxy=${other}`}; \`platform doctor\` on the host shows why it does not reach this one`,
  });
}
