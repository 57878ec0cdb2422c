import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { findHost, hostWrite } from "./host-records.ts";

/** A proxy says which version it runs, each time that it connects: its record follows. */
export async function keepProxyVersion({ storage }: Pick<AuthContext, "storage">, id: string, version: string): Promise<void> {
  const known = await findHost(storage, "proxy", id);
  if (known === undefined || version === "" || version.length > 64 || known.spec.version === version) return;
  try {
    await storage.put(hostWrite("proxy", { ...known, spec: { ...known.spec, version } }, { revision: known.metadata.revision ?? "" }));
  } catch (thrown) {
    // Removed or changed in between: the next connection tells again.
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
  }
}
