import type { NameParameter, ServedKind } from "../kinds/service-kinds.ts";
import type { Labels } from "../resources/metadata.ts";
import type { Verb } from "../resources/role.ts";
import type { JoinMode, SessionKind, SessionPod } from "../resources/session.ts";
import type { KubeAsk, WantedSubjects } from "./kube/kube-ask.ts";

/** A login to a host. Without `login` it asks whether there is any login at all: control then routes, the agent decides. */
export interface SshAsk {
  readonly kind: "ssh";
  readonly node: { readonly id: string; readonly name: string; readonly labels: Labels };
  readonly login?: string;
}
/** Use of a resource that an agent serves: an application. */
export interface ServedAsk<Kind extends ServedKind = ServedKind> {
  readonly kind: Kind;
  readonly served: { readonly name: string; readonly labels: Labels };
  /** Names at the resource that the user wants to have, by parameter of the request; omitted ones are any. */
  readonly names?: { readonly [Parameter in NameParameter<Kind>]?: string };
  /** Names that this resource does not have, or that are decided later: no role has to list any. */
  readonly without?: readonly string[];
  /** Id of the host whose agent serves it; omitted for any. */
  readonly serverId?: string;
  /** Of a database: its agents make the account of a user whose roles say so. */
  readonly makesAccounts?: boolean;
  /** Of a Kubernetes cluster: what is done there, and as whom; omitted: whether roles lend anything there, which later requests are decided by. */
  readonly request?: { readonly ask: KubeAsk; readonly wanted?: WantedSubjects };
}
export interface ResourceAsk {
  readonly kind: "resource";
  /** A resource kind: `role`, `user`, `token`, `node`, `event` … */
  readonly resource: string;
  readonly verb: Exclude<Verb, "*">;
}
/** Joining a running session. Without `session` it asks only for what applies to every session: no lock, a valid certificate. */
export interface JoinAsk {
  readonly kind: "join";
  readonly node: { readonly id: string; readonly name: string };
  readonly session?: {
    readonly sid: string;
    readonly kind: SessionKind;
    readonly user: string;
    readonly login: string;
    readonly roles: readonly string[];
    readonly mode: JoinMode;
    readonly pod?: SessionPod;
  };
}
export type Ask = SshAsk | ServedAsk | ResourceAsk | JoinAsk;

export function isServed(ask: Ask): ask is ServedAsk {
  return "served" in ask;
}

/** The login and the host that locks may name. Pure. */
export function lockedPlace(ask: Ask): { readonly login?: string | undefined; readonly serverId?: string | undefined } {
  if (isServed(ask)) return { serverId: ask.serverId };
  switch (ask.kind) {
    case "ssh":
      return { login: ask.login, serverId: ask.node.id };
    case "join":
      return { login: ask.session?.login, serverId: ask.node.id };
    case "resource":
      return {};
  }
}
