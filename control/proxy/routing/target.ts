import type { Labels } from "../../../core/resources/metadata.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

/** A host that a target may mean. */
interface Host {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
}

/** A host with a tunnel to this proxy. */
export interface TunnelTarget extends Host {
  readonly via: "tunnel";
  readonly tunnel: Tunnel;
  /** Address for users: the one from which its agent connects. */
  readonly peer: string;
}

/** A host with a tunnel to other proxies, but none here yet. */
export interface ElsewhereTarget extends Host {
  readonly via: "elsewhere";
  readonly proxies: readonly { readonly name: string; readonly addr: string }[];
}

/** A host whose agent listens: the proxy dials it. */
export interface DirectTarget extends Host {
  readonly via: "dial";
  /** `host:port`, in order of preference. */
  readonly addresses: readonly string[];
  /** Addresses that it may share with other hosts. */
  readonly shared: readonly string[];
  /** Address for users. */
  readonly peer: string;
}

/** A host without an agent: the proxy dials its sshd. */
export interface OpensshTarget extends Host {
  readonly via: "sshd";
  /** `host:port` of its sshd, which is also its address for users. */
  readonly peer: string;
}

/** A host known only by its record: no stream is opened to it, and no other host is mistaken for it. */
export interface RecordedTarget extends Host {
  readonly via: "record";
  /** Time since when it is not connected, RFC 3339; undefined: unknown. */
  readonly since: string | undefined;
}

export type Target = TunnelTarget | ElsewhereTarget | DirectTarget | OpensshTarget;

export function tunnelTarget(tunnel: Tunnel): TunnelTarget {
  const { hostname, labels } = tunnel.facts;
  return { via: "tunnel", tunnel, identity: { id: tunnel.identity.id }, facts: { hostname, labels }, peer: tunnel.peer };
}
