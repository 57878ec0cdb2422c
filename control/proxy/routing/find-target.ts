import type { SshAsk } from "../../../core/access/ask.ts";
import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { Role } from "../../../core/resources/role.ts";

/** A host that has a tunnel here, one that is dialled, or one without an agent. */
export interface Candidate {
  readonly identity: { readonly id: string };
  readonly facts: { readonly hostname: string; readonly labels: Labels };
  /** Where the agent comes from or is dialled, and where the sshd is. */
  readonly peer?: string;
  readonly addr?: string;
}

export interface TargetFacts<T> {
  readonly target: string;
  /** Tunnels of the hosts that the target may mean. */
  readonly candidates: readonly T[];
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
 * The one host that the target means and this user may reach. Throws `not_found`, `denied`, `conflict` (several) or
 * `unauthenticated`. Hosts that the user may not reach are never named. Pure.
 */
export function findTarget<T extends Candidate>(facts: TargetFacts<T>): T {
  const { target } = facts;
  const allowed = allowedTargets(facts);
  const [only, second] = allowed;
  if (only !== undefined && second === undefined) return only;
  throw new PlatformError("conflict", `${allowed.length} hosts are named ${JSON.stringify(target)}`, {
    hint: `use the id of the one that you mean:\n${candidateLines(allowed)}`,
  });
}

/** Those that this user may reach; at least one. Throws `not_found`, `denied` or `unauthenticated`. Pure. */
export function allowedTargets<T extends Candidate>(facts: TargetFacts<T>): readonly T[] {
  const { target, candidates, identity, roles, locks, clientIp, now } = facts;
  if (candidates.length === 0) {
    throw new PlatformError("not_found", `no host ${JSON.stringify(target)} is connected to the cluster`, {
      hint: "`tsh ls` shows the hosts; is its agent running and able to reach the proxy?",
    });
  }
  let refusal: unknown;
  const allowed = candidates.filter((candidate) => {
    try {
      authorize({ identity, roles, locks, ask: ask(candidate, facts.login), clientIp, now });
      return true;
    } catch (thrown) {
      refusal ??= thrown;
      return false;
    }
  });
  if (allowed.length === 0) throw refusal;
  return allowed;
}

/** Named one by one; the answer must stay short. */
const maxCandidates = 20;
const maxLabels = 200;

function candidateLines(candidates: readonly Candidate[]): string {
  const lines = candidates.slice(0, maxCandidates).map(({ identity, facts, peer, addr }) => {
    const labels = Object.entries(facts.labels).map(([key, value]) => `${key}=${value}`);
    return `  ${identity.id}  ${facts.hostname}  ${peer ?? addr ?? ""}  ${labels.sort().join(",").slice(0, maxLabels)}`.trimEnd();
  });
  const more = candidates.length - maxCandidates;
  return [...lines, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n");
}

function ask({ identity, facts }: Candidate, login: string): SshAsk {
  const node = { id: identity.id, name: facts.hostname, labels: facts.labels };
  return { kind: "ssh", node, ...(login !== "" && { login }) };
}
