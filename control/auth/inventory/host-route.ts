import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HostRouteSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { DirectHost } from "../../../core/resources/direct-host.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { ClusterProxy } from "../../../core/resources/proxy.ts";
import type { LiveNode } from "./live-nodes.ts";

export type HostRoute = MessageInitShape<typeof HostRouteSchema>;

export interface RouteFacts {
  readonly node: Node;
  /** Recorded names. */
  readonly names: readonly string[];
  readonly live: LiveNode | undefined;
  /** Its addresses, if proxies dial it. */
  readonly direct: DirectHost | undefined;
  /** Time since when it is disconnected, RFC 3339; undefined: unknown. */
  readonly since: string | undefined;
  readonly proxies: readonly ClusterProxy[];
}

/** Whether a proxy finds the host by itself: by its tunnel, under names that no other host has. Pure. */
export function isFoundByTunnel(live: LiveNode | undefined, proxy: string, namesakes: readonly string[]): boolean {
  return live?.connected === true && live.isDialled !== true && live.proxies.includes(proxy) && namesakes.length === 0;
}

/** The way from a proxy to a host. Pure. */
export function hostRoute({ node, names, live, direct, since, proxies }: RouteFacts, proxy: string): HostRoute {
  const { hostname } = node.spec;
  const host = {
    id: node.metadata.name,
    hostname,
    labels: { ...node.metadata.labels },
    names: [...new Set([hostname, ...names, ...(direct?.names ?? []), ...(live?.names ?? [])])],
  };
  const hasTunnel = live?.connected === true && live.isDialled !== true;
  if (hasTunnel && !live.proxies.includes(proxy)) {
    const holding = live.proxies.map((id) => {
      const { name, addr } = proxies.find((one) => one.id === id) ?? { name: id, addr: "" };
      return { id, name, addr };
    });
    return { ...host, via: { case: "tunnel", value: { proxies: holding } } };
  }
  if (direct !== undefined && !hasTunnel) {
    return { ...host, via: { case: "dial", value: { addresses: [...direct.addresses], shared: [...direct.shared] } } };
  }
  return { ...host, via: { case: "record", value: { since: live?.connected === true ? "" : (since ?? "") } } };
}
