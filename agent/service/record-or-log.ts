import type { Grant } from "../../core/access/authorize.ts";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { errorText, type PlatformError } from "../../core/errors/platform-error.ts";
import { type ServedKind, servedName } from "../../core/kinds/service-kinds.ts";
import type { Log } from "../../core/log/log.ts";
import type { Spool } from "../audit/spool.ts";
import type { HeldRoom } from "../audit/spool-room.ts";
import type { ServiceDeps } from "./service.ts";

interface RecordDeps {
  readonly audit: Pick<Spool, "record">;
  readonly log: Log;
}

/** Records an event of something that has happened already: what a full disk does not take waits in memory, any other failure is only logged. Never throws. */
export async function recordOrLog({ audit, log }: RecordDeps, event: AuditFacts, room?: HeldRoom): Promise<void> {
  try {
    await audit.record(event, { isPast: true, room });
  } catch (thrown) {
    log.error("could not record an audit event", { event: event.event, sid: "sid" in event ? event.sid : undefined, error: errorText(thrown) });
  }
}

export interface RefusedLogin {
  readonly error: PlatformError;
  /** The recorded reason, where it differs from the one sent to the user. */
  readonly reason?: string | undefined;
  /** As stated in the certificate. */
  readonly user: string;
  /** Unix login; left out where a service has none. */
  readonly login?: string;
  /** The resource; left out where the service is the host itself. */
  readonly served?: { readonly kind: ServedKind; readonly name: string };
  readonly clientAddress: string;
  readonly sid: string;
  /** The user was allowed, except for a limit. */
  readonly grant: Pick<Grant, "maxConnections"> | undefined;
  readonly deps: Pick<ServiceDeps, "audit" | "credentials" | "log" | "node">;
}

/** A refusal that cannot be recorded is still a refusal. */
export async function recordRefusal({ error, reason, user, login, served, clientAddress, sid, grant, deps }: RefusedLogin): Promise<void> {
  deps.log.info("login refused", { user, login, ...(served && { [served.kind]: served.name }), error, client: clientAddress });
  const common = {
    user: user.slice(0, 256),
    ...(login !== undefined && { login: login.slice(0, 256) }),
    ...(served !== undefined && servedName(served.kind, served.name)),
    server_id: deps.credentials().hostId,
    server_name: deps.node.name,
    sid: sid.slice(0, 256),
    "addr.remote": clientAddress.slice(0, 256),
  };
  const text = (reason ?? error.message).slice(0, 2000);
  const maximum = error.code === "limit" ? grant?.maxConnections : undefined;
  if (maximum === undefined) await recordOrLog(deps, { event: "auth", error: text, ...common });
  else await recordOrLog(deps, { event: "session.rejected", reason: text, maximum, ...common });
}
