import type { SshAsk } from "../../../core/access/ask.ts";
import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { Role } from "../../../core/resources/role.ts";
import type { RoutedTunnel } from "../tunnels/registry.ts";

/* The hosts that a target may mean, and which of them it is. */

/** A host, however it is reached. */
interface Host {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
}

/** A host with a tunnel to this proxy. */
export interface TunnelTarget extends Host {
  readonly via: "tunnel";
  readonly tunnel: RoutedTunnel;
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
  /** Of services with a port of their own, by kind. */
  readonly services?: Readonly<Record<string, readonly string[]>>;
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

export function tunnelTarget(tunnel: RoutedTunnel): TunnelTarget {
  const { hostname, labels } = tunnel.facts;
  return { via: "tunnel", tunnel, identity: { id: tunnel.identity.id }, facts: { hostname, labels }, peer: tunnel.peer };
}

/** A host with a tunnel here, a dialled one, or one without an agent. */
export interface Candidate extends Host {
  /** Address from which the agent connects or where it is dialled, or the address of the sshd. */
  readonly peer?: string;
}

export interface TargetFacts<T> {
  readonly target: string;
  /** Tunnels of the hosts that match the target. */
  readonly candidates: readonly T[];
  /** All hosts recorded under it that are not candidates. */
  readonly recorded: readonly RecordedTarget[];
  readonly identity: UserIdentity;
  readonly roles: readonly Role[];
  readonly locks: readonly Lock[];
  /** Empty: not known yet. */
  readonly login: string;
  /** IP address of the user. */
  readonly clientIp: string;
  readonly now: Date;
}

/**
 * The only host that matches the target and that this user may reach. Throws `not_found`, `denied`, `conflict` (several) or
 * `unauthenticated`. Hosts that the user may not reach are never named. Pure.
 */
export function findTarget<T extends Candidate>(facts: TargetFacts<T>): T {
  const { target } = facts;
  const allowed = allowedTargets(facts);
  const away = namesakesAway(facts);
  const [only, second] = allowed;
  if (only !== undefined && second === undefined && away.length === 0) return only;
  const lines = candidateLines([...allowed, ...away]);
  const [gone] = away;
  if (gone === undefined) {
    throw new PlatformError("conflict", `${allowed.length} hosts are named ${JSON.stringify(target)}`, {
      hint: `use the id of the one that you mean:\n${lines}`,
    });
  }
  const count = allowed.length + away.length;
  throw new PlatformError("conflict", `${JSON.stringify(target)} is the name of ${count} hosts, and ${away.length} of them not connected`, {
    hint: `use the id of the one that you mean; if ${gone.identity.id} is gone for good, an admin frees the name with: tctl nodes rm ${gone.identity.id}\n${lines}`,
  });
}

/**
 * Recorded hosts of that name that this user may reach when they are connected: until they are removed, the name is theirs too, so that no host
 * that joins under it is mistaken for them. A lock of such a host does not free its name. Pure.
 */
export function namesakesAway<T extends Candidate>(facts: TargetFacts<T>): readonly RecordedTarget[] {
  const candidates = new Set(facts.candidates.map(({ identity }) => identity.id));
  return facts.recorded.filter((host) => !candidates.has(host.identity.id) && refusalOf(host, { ...facts, locks: [] }) === undefined);
}

/** Hosts that this user may reach; at least one. Throws `not_found`, `denied` or `unauthenticated`. Pure. */
export function allowedTargets<T extends Candidate>(facts: TargetFacts<T>): readonly T[] {
  const { target, candidates } = facts;
  if (candidates.length === 0) {
    throw new PlatformError("not_found", `no host ${JSON.stringify(target)} is connected to the cluster`, {
      hint: "`tsh ls` lists the hosts; check that its agent is running and can reach the proxy",
    });
  }
  let refusal: unknown;
  const allowed = candidates.filter((candidate) => {
    const thrown = refusalOf(candidate, facts);
    refusal ??= thrown;
    return thrown === undefined;
  });
  if (allowed.length === 0) throw refusal;
  return allowed;
}

type Judged = Pick<Candidate, "identity" | "facts">;

/** The refusal of `authorize`; undefined: this user may reach it. A one-time code is for one host: it is required once that is known. */
function refusalOf(host: Judged, { identity, roles, locks, login, clientIp, now }: Omit<TargetFacts<Candidate>, "target" | "candidates">): unknown {
  try {
    authorize({ identity, roles, locks, ask: ask(host, login), clientIp, now, isBeforeMfa: true });
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** Maximum number of listed hosts; the answer must stay short. */
const maxCandidates = 20;
const maxLabels = 200;

function candidateLines(candidates: readonly (Candidate | RecordedTarget)[]): string {
  const lines = candidates.slice(0, maxCandidates).map((candidate) => {
    const { identity, facts } = candidate;
    const labels = Object.entries(facts.labels).map(([key, value]) => `${key}=${value}`);
    return `  ${identity.id}  ${facts.hostname}  ${whereOf(candidate)}  ${labels.sort().join(",").slice(0, maxLabels)}`.trimEnd();
  });
  const more = candidates.length - maxCandidates;
  return [...lines, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n");
}

function whereOf(candidate: Candidate | RecordedTarget): string {
  if (!("since" in candidate)) return candidate.peer ?? "";
  return candidate.since === undefined ? "not connected" : `not connected since ${candidate.since}`;
}

/** Throws `mfa_required` where this user's roles demand a one-time code for the host, and the certificate has none. Pure. */
export function requireMfa(host: Judged, facts: Omit<TargetFacts<Candidate>, "target" | "candidates" | "recorded">): void {
  const { identity, roles, locks, login, clientIp, now } = facts;
  authorize({ identity, roles, locks, ask: ask(host, login), clientIp, now });
}

function ask({ identity, facts }: Judged, login: string): SshAsk {
  const node = { id: identity.id, name: facts.hostname, labels: facts.labels };
  return { kind: "ssh", node, ...(login !== "" && { login }) };
}
