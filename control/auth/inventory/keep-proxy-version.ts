import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { findHost, hostWrite } from "./host-records.ts";

/** Updates a proxy's record with the version that it reports at each connection. */
export async function keepProxyVersion({ storage }: Pick<AuthContext, "storage">, id: string, version: string): Promise<void> {
  const known = await findHost(storage, "proxy", id);
  if (known === undefined || version === "" || version.length > 64 || known.spec.version === version) return;
  try {
    await storage.put(hostWrite("proxy", { ...known, spec: { ...known.spec, version } }, { revision: known.metadata.revision ?? "" }));
  } catch (thrown) {
    // Removed or changed meanwhile: the next connection reports it again.
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
  }
}
