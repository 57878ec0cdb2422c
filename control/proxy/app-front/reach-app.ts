import type { TLSSocket } from "node:tls";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import { watchPresence } from "../routing/client-presence.ts";
import { type ReachServices, reachServed } from "../routing/reach-served.ts";
import type { AppSite } from "./app-sites.ts";

export interface AppClient {
  readonly tls: TLSSocket;
  readonly site: AppSite;
  /** `ip:port` of the client. */
  readonly peer: string;
}

export interface ReachAppServices extends ReachServices {
  readonly auth: Pick<AuthClient, "signRelayedApp">;
}

/** The way to the application at a host name, for a client with a certificate for this application, as `reachServed`. Throws PlatformError. */
export async function reachApp({ tls, site, peer }: AppClient, services: ReachAppServices): Promise<TLSSocket> {
  const certificate = peerCertificate(tls);
  const userCertificate = new Uint8Array(certificate ?? []);
  using presence = watchPresence(tls);
  const way = {
    clientAddress: peer,
    left: presence.left,
    identify: async () => {
      const { userCaPem: authorities } = await services.access.current();
      return certifiedIdentity("user", { certificate, authorities, cluster: services.cluster, now: services.now() }, hintFor(site));
    },
    request: (identity: UserIdentity) => requestFor(identity, site),
    sign: async (ask: { readonly hostId: string; readonly tlsPublicKey: string }) =>
      (await services.auth.signRelayedApp({ ...ask, userCertificate, clientAddress: peer })).tlsCertificate,
  };
  const agent = await reachServed<"app">(way, services);
  if (!tls.destroyed) return agent;
  agent.destroy();
  throw new PlatformError("unavailable", "the client has left");
}

/** Throws `denied` for a certificate that is not for this application alone. */
function requestFor({ name: user, route }: UserIdentity, site: AppSite) {
  if (route?.kind === "app" && route.name === site.app) return { kind: "app", target: site.app, parameters: {} } as const;
  const hint = hintFor(site);
  throw new PlatformError("denied", `access denied: the certificate of ${user} is not for application ${site.app}`, { hint });
}

function hintFor({ app }: AppSite): string {
  return `get a certificate with: tsh apps login ${app}`;
}
