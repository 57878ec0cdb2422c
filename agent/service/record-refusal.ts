import type { Grant } from "../../core/access/authorize.ts";
import { errorText, type PlatformError } from "../../core/errors/platform-error.ts";
import type { ServiceDeps } from "./deps.ts";

export interface RefusedLogin {
  readonly error: PlatformError;
  /** Where it is another one than the user was told. */
  readonly reason?: string;
  /** As the certificate says. */
  readonly user: string;
  readonly login: string;
  readonly clientAddress: string;
  readonly sid: string;
  /** Was allowed but for a limit. */
  readonly grant: Pick<Grant, "maxConnections"> | undefined;
  readonly deps: Pick<ServiceDeps, "audit" | "credentials" | "log" | "node">;
}

/** A refusal that cannot be recorded is a refusal all the same. */
export async function recordRefusal({ error, reason, user, login, clientAddress, sid, grant, deps }: RefusedLogin): Promise<void> {
  deps.log.info("login refused", { user, login, error, client: clientAddress });
  const common = {
    user: user.slice(0, 256),
    login: login.slice(0, 256),
    server_id: deps.credentials().hostId,
    server_name: deps.node.name,
    sid: sid.slice(0, 256),
    "addr.remote": clientAddress.slice(0, 256),
  };
  const text = (reason ?? error.message).slice(0, 2000);
  const maximum = error.code === "limit" ? grant?.maxConnections : undefined;
  try {
    if (maximum === undefined) await deps.audit.record({ event: "auth", error: text, ...common });
    else await deps.audit.record({ event: "session.rejected", reason: text, maximum, ...common });
  } catch (cause) {
    deps.log.error("a refusal could not be recorded", { error: errorText(cause) });
  }
}
