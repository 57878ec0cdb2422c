import type { Access } from "../../agent/access/access-source.ts";
import { HeldRoom } from "../../agent/audit/spool-room.ts";
import { UserShares } from "../../agent/service/connection-limits.ts";
import { LiveSessions } from "../../agent/service/live-sessions.ts";
import type { ServiceDeps } from "../../agent/service/service.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { silentLog } from "../../core/log/log.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { InsideAuthorities } from "./authorities.ts";

export interface InsideService {
  readonly authorities: InsideAuthorities;
  readonly credentials: HostCredentials;
  readonly node: { readonly name: string; readonly labels: Labels };
  /** The part of the access rules that the test is about: roles, locks, the recording mode. */
  readonly access?: Partial<Access>;
  /** Answers every request for access rules instead. */
  readonly fetchAccess?: (() => Promise<Access>) | undefined;
  readonly follow?: ServiceDeps["access"]["follow"] | undefined;
  readonly ageMs?: (() => number) | undefined;
  /** Default: the event joins `events`. */
  readonly record?: ((facts: AuditFacts) => Promise<void>) | undefined;
}

/** Dependencies of a service of an agent inside a test, and the events that it recorded: no leases, no recordings. */
export function serviceDeps(options: InsideService): { readonly deps: ServiceDeps; readonly events: AuditFacts[] } {
  const { authorities, credentials, node } = options;
  const events: AuditFacts[] = [];
  const access: Access = {
    revision: "1",
    roles: [],
    unreadable: [],
    locks: [],
    userCaSsh: [authorities.userCaSsh],
    hostCaSsh: [authorities.hostCaSsh],
    userCaPem: [authorities.userCaPem],
    hostCaPem: [authorities.hostCaPem],
    sessionRecording: "off",
    ...options.access,
  };
  const answer = options.fetchAccess ?? (async (): Promise<Access> => access);
  const follow = options.follow ?? (() => {});
  const deps: ServiceDeps = {
    credentials: () => credentials,
    access: { at: answer, fresh: answer, refresh: async () => access, ageMs: options.ageMs ?? (() => 0), announce: () => {}, follow },
    audit: { record: options.record ?? (async (facts) => void events.push(facts)), hold: async (ask) => new HeldRoom(ask, () => {}) },
    recordings: { begin: () => unused("recordings"), keep: () => false, sendNow: () => unused("recordings") },
    live: new LiveSessions(),
    node,
    lease: () => unused("leases"),
    shares: new UserShares(),
    auth: () => unused("auth service"),
    listResources: async () => [],
    news: { isLive: () => true, onNews: () => {} },
    log: silentLog,
  };
  return { deps, events };
}

function unused(what: string): Promise<never> {
  return Promise.reject(new Error(`this test has no ${what}`));
}
