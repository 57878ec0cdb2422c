import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import type { RoutingServices } from "../routing/routing-services.ts";

type Serve<Arrival, Services> = (arrival: Arrival, services: Services) => Promise<void>;

/**
 * The same front, which also records in the audit log a client that breaks its protocol, or TLS, before it has identified itself, as far as the limit of its
 * network allows. Later faults are recorded with their user, here or by the agent. A client that only disconnects is not recorded: balancers probe ports that way.
 */
export function auditingOffences<Arrival extends { readonly peer: string }, Services extends Pick<RoutingServices, "audit">>(
  protocol: DbProtocol,
  serve: Serve<Arrival, Services>,
): Serve<Arrival, Services> {
  return async (arrival, services) => {
    try {
      await serve(arrival, services);
    } catch (thrown) {
      const error = toPlatformError(thrown);
      const what = `a client of the port for ${protocol} was disconnected before it had identified itself: ${error.message}`;
      if (isOffence(error)) services.audit.emitRefusal({ event: "auth", error: what.slice(0, 2_000), "addr.remote": arrival.peer });
      throw thrown;
    }
  };
}

function isOffence({ code, cause }: PlatformError): boolean {
  return code === "invalid" || isBrokenTls(cause);
}

/** OpenSSL's error for what a peer has sent; an alert is the peer's own refusal, of a certificate that it does not trust. */
function isBrokenTls(cause: unknown): boolean {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, "code") : undefined;
  return typeof code === "string" && code.startsWith("ERR_SSL_") && !code.includes("_ALERT_");
}
