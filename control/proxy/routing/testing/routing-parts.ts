import { silentLog } from "../../../../core/log/log.ts";
import { ExpectedHosts } from "../../tunnels/expected-hosts.ts";
import type { accessOf } from "./access-of.ts";
import { nothingDialled } from "./nothing-dialled.ts";

/** What the routing of streams needs besides a registry: every user has this access, no other host is known, and nothing is dialled or limited. */
export function routingParts(access: ReturnType<typeof accessOf>) {
  return {
    log: silentLog,
    access: { current: async () => access, forUser: async () => access },
    findSession: async () => undefined,
    expected: new ExpectedHosts(),
    arriving: new ExpectedHosts(),
    hosts: { find: async () => ({ reachable: [], recorded: [] }), offering: () => [], begun: async () => {} },
    identity: nothingDialled,
    limited: { add: async () => {} },
    audit: { emit: () => {}, emitRefusal: () => {} },
    cancels: { threadOf: async () => undefined },
    cluster: "c",
  };
}
