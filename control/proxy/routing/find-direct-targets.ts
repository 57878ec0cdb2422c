import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectTarget, readDirectTarget } from "./direct-target.ts";
import { type ElsewhereTarget, readElsewhereTarget } from "./elsewhere-target.ts";

/** For the auth service's answer, ms. */
const askMs = 3_000;

/**
 * Hosts that the target may mean and that have no tunnel here: those that are dialled, and those with a tunnel to other proxies. An auth
 * service that knows none such (an older one) has none. Throws PlatformError.
 */
export async function findDirectTargets(
  auth: Pick<AuthClient, "findDirectHosts">,
  target: string,
): Promise<readonly (DirectTarget | ElsewhereTarget)[]> {
  try {
    const { hostsJson, tunnelledJson } = await auth.findDirectHosts({ target }, { timeoutMs: askMs });
    return [...hostsJson.map(readDirectTarget), ...tunnelledJson.map(readElsewhereTarget)];
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return [];
    throw thrown;
  }
}
