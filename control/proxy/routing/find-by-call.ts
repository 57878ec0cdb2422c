import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectHost, directHostDocument } from "../../../core/resources/direct-host.ts";
import { readDocuments } from "../../../core/resources/document.ts";
import { type RecordedHost, recordedHostDocument } from "../../../core/resources/recorded-host.ts";
import { type TunnelledHost, tunnelledHostDocument } from "../../../core/resources/tunnelled-host.ts";
import type { DirectTarget, ElsewhereTarget, RecordedTarget } from "./target.ts";

/** Time limit of the auth service's answer, ms. */
const callMs = 3_000;

/** Hosts that match a target, besides those with a tunnel to this proxy. */
export interface FoundHosts {
  /** Dialled hosts, and those with a tunnel to other proxies. */
  readonly reachable: readonly (DirectTarget | ElsewhereTarget)[];
  /** Other hosts of that name, possibly including those with a tunnel here. */
  readonly recorded: readonly RecordedTarget[];
}

/** Without a current directory: the auth service's answer for one target. An older auth service does not return any. Throws PlatformError. */
export async function findByCall(auth: Pick<AuthClient, "findDirectHosts">, target: string): Promise<FoundHosts> {
  try {
    const { hostsJson, tunnelledJson, recordedJson } = await auth.findDirectHosts({ target }, { timeoutMs: callMs });
    const dialled = readDocuments(directHostDocument, hostsJson).map(targetOf.dial);
    const elsewhere = readDocuments(tunnelledHostDocument, tunnelledJson).map(targetOf.elsewhere);
    const recorded = readDocuments(recordedHostDocument, recordedJson).map(targetOf.record);
    return { reachable: [...dialled, ...elsewhere], recorded };
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return { reachable: [], recorded: [] };
    throw thrown;
  }
}

/** Targets made from the auth service's facts about a host. Pure. */
export const targetOf = {
  dial: ({ id, hostname, labels, addresses, shared }: DirectHost): DirectTarget => {
    return { via: "dial", identity: { id }, facts: { hostname, labels }, addresses, shared, peer: addresses[0] ?? "" };
  },
  elsewhere: ({ id, hostname, labels, proxies }: TunnelledHost): ElsewhereTarget => {
    return { via: "elsewhere", identity: { id }, facts: { hostname, labels }, proxies: proxies.map(({ name, addr }) => ({ name, addr })) };
  },
  record: ({ id, hostname, labels, since }: RecordedHost): RecordedTarget => {
    return { via: "record", identity: { id }, facts: { hostname, labels }, since };
  },
};
