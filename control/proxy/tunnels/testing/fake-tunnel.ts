import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../../core/identity/identity.ts";
import type { RoutedTunnel } from "../registry.ts";

export interface FakeHost extends Partial<Omit<RoutedTunnel, "identity" | "facts">> {
  readonly id: string;
  /** Default: `host-` and the id. */
  readonly hostname?: string;
  /** Other names in its certificate. */
  readonly names?: readonly string[];
}

/** The identity of a host, as its certificate has it. */
export function hostIdentity(id: string, names: readonly string[] = []): HostIdentity {
  return { kind: "host", id, role: "node", cluster: "main", names, validBefore: new Date(0) };
}

/** A tunnel without a connection: it sends nothing, and opens no stream unless the test states how. */
export function fakeTunnel({ id, hostname = `host-${id}`, names = [], ...change }: FakeHost): RoutedTunnel {
  const tunnel: RoutedTunnel = {
    identity: hostIdentity(id, names),
    facts: { hostname, labels: {}, services: ["ssh"], version: "1" },
    peer: "192.0.2.1:40000",
    draining: false,
    ended: false,
    sharesName: false,
    streams: 0,
    offered: [],
    offerLimits: {},
    refusedServices: [],
    silentFor: () => 0,
    send: () => {},
    end() {
      tunnel.ended = true;
    },
    openStream: () => Promise.reject(new PlatformError("unavailable", "a tunnel of a test opens no stream")),
    ...change,
  };
  return tunnel;
}
