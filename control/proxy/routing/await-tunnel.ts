import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { TunnelRegistry } from "../tunnels/registry.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";
import type { ElsewhereTarget } from "./target.ts";

/** Wait for the tunnel of a host, ms: agents connect to every proxy. */
export const elsewhereMs = 5_000;

/** The host's tunnel as soon as it is here. Throws `unavailable` with the proxies to which the host is connected. */
export async function awaitTunnel({ identity, facts, proxies }: ElsewhereTarget, registry: TunnelRegistry): Promise<Tunnel> {
  const tunnel = await registry.arrival(identity.id, elsewhereMs);
  if (tunnel !== undefined) return tunnel;
  const where = proxies.map(({ name, addr }) => (addr === "" ? name : `${name} (${addr})`)).join(", ");
  const other = proxies.find(({ addr }) => addr !== "")?.addr;
  throw new PlatformError("unavailable", `${facts.hostname} is connected to proxy ${where || "none"}, but not to this one yet`, {
    hint: `${other === undefined ? "try again shortly" : `try again in a moment, or use that proxy: tsh --proxy=${other}`}; \`platform doctor\` on the host shows why it could not reach this one`,
  });
}
