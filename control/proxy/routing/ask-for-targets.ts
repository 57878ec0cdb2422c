import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectTarget, readDirectTarget } from "./direct-target.ts";
import { type ElsewhereTarget, readElsewhereTarget } from "./elsewhere-target.ts";
import { type RecordedTarget, readRecordedTarget } from "./recorded-target.ts";

/** Time limit of the auth service's answer, ms. */
const askMs = 3_000;

/** Hosts that match a target, besides those with a tunnel to this proxy. */
export interface ToldTargets {
  /** Dialled hosts, and those with a tunnel to other proxies. */
  readonly reachable: readonly (DirectTarget | ElsewhereTarget)[];
  /** Other hosts of that name, possibly including those with a tunnel here. */
  readonly recorded: readonly RecordedTarget[];
}

/** An older auth service does not return any. Throws PlatformError. */
export async function askForTargets(auth: Pick<AuthClient, "findDirectHosts">, target: string): Promise<ToldTargets> {
  try {
    const { hostsJson, tunnelledJson, recordedJson } = await auth.findDirectHosts({ target }, { timeoutMs: askMs });
    return {
      reachable: [...hostsJson.map(readDirectTarget), ...tunnelledJson.map(readElsewhereTarget)],
      recorded: recordedJson.map(readRecordedTarget),
    };
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return { reachable: [], recorded: [] };
    throw thrown;
  }
}
