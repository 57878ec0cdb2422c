import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectTarget, readDirectTarget } from "./direct-target.ts";

/** For the auth service's answer, ms. */
const askMs = 3_000;

/** Hosts that are dialled and that the target may mean. An auth service that knows none such (an older one) has none. Throws PlatformError. */
export async function findDirectTargets(auth: Pick<AuthClient, "findDirectHosts">, target: string): Promise<readonly DirectTarget[]> {
  try {
    const { hostsJson } = await auth.findDirectHosts({ target }, { timeoutMs: askMs });
    return hostsJson.map(readDirectTarget);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return [];
    throw thrown;
  }
}
