import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectTarget, readDirectTarget } from "./direct-target.ts";
import { type ElsewhereTarget, readElsewhereTarget } from "./elsewhere-target.ts";
import { type RecordedTarget, readRecordedTarget } from "./recorded-target.ts";

/** For the auth service's answer, ms. */
const askMs = 3_000;

/** Hosts that a target may mean, besides those with a tunnel to this proxy. */
export interface ToldTargets {
  /** Those that are dialled, and those with a tunnel to other proxies. */
  readonly reachable: readonly (DirectTarget | ElsewhereTarget)[];
  /** The others of that name; those with a tunnel here may be among them. */
  readonly recorded: readonly RecordedTarget[];
}

/** An auth service that knows none such (an older one) has none. Throws PlatformError. */
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
