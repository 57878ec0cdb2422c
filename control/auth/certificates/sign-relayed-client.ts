import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Route, UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity } from "../../../core/identity/x509-identity.ts";
import type { AuthContext } from "../auth-context.ts";
import { findUser } from "../users/users.ts";
import { type RelayedServedAsk, signRelayedServed } from "./sign-relayed-served.ts";

export interface RelayedClientAsk extends Omit<RelayedServedAsk, "identity"> {
  /** DER; the proxy has seen in TLS that the peer holds its key. */
  readonly userCertificate: Buffer;
}

/**
 * A certificate with which a proxy speaks for a user of its database port: for the one database and the one account of the certificate that was presented
 * there. The agent and `signDatabaseClient` decide again. Throws `unauthenticated`, and as `signRelayedServed`.
 */
export async function signRelayedDatabase(context: AuthContext, { userCertificate, ...ask }: RelayedClientAsk): Promise<string> {
  const identity = await ownerOf(context, userCertificate, "tsh db login");
  const { route } = identity;
  if (route?.kind === "db" && route.account !== undefined) return await signRelayedServed(context, { ...ask, identity: { ...identity, route } });
  throw new PlatformError("denied", "access denied: the client certificate is not for one database and one account", {
    hint: "get one with: tsh db login --db-user=<account> <database>",
  });
}

/**
 * The same for a client at the public address of an application, who has presented a certificate for this application alone. `signAppToken` decides again
 * too. Throws `unauthenticated`, and as `signRelayedServed`.
 */
export async function signRelayedApp(context: AuthContext, { userCertificate, ...ask }: RelayedClientAsk): Promise<string> {
  const identity = await ownerOf(context, userCertificate, "tsh apps login");
  const { route } = identity;
  if (route?.kind === "app") return await signRelayedServed(context, { ...ask, identity: { ...identity, route: withoutAccount(route) } });
  throw new PlatformError("denied", "access denied: the client certificate is not for one application", {
    hint: "get one with: tsh apps login <application>",
  });
}

/**
 * The same for a client of Kubernetes that has presented a certificate for this Kubernetes cluster alone. The agent decides again. Throws `unauthenticated`,
 * and as `signRelayedServed`.
 */
export async function signRelayedKube(context: AuthContext, { userCertificate, ...ask }: RelayedClientAsk): Promise<string> {
  const identity = await ownerOf(context, userCertificate, "tsh kube login");
  const { route } = identity;
  if (route?.kind === "kube") return await signRelayedServed(context, { ...ask, identity: { ...identity, route: withoutAccount(route) } });
  throw new PlatformError("denied", "access denied: the client certificate is not for one Kubernetes cluster", {
    hint: "get one with: tsh kube login <cluster>",
  });
}

/** Applications and Kubernetes clusters have no accounts. */
function withoutAccount({ kind, name }: Route): Route {
  return { kind, name };
}

/** The user of a certificate; a relayed one is not accepted. Throws `unauthenticated`. */
async function ownerOf(context: AuthContext, userCertificate: Buffer, login: string): Promise<UserIdentity> {
  const certificate = userCertificate.length > 0 ? userCertificate : undefined;
  const authorities = context.authorities.trusted("user").map(({ pem }) => pem);
  const facts = { certificate, authorities, cluster: context.clusterName, now: context.now() };
  const identity = certifiedIdentity("user", facts, `log in again with: ${login}`);
  if ((await findUser(context, identity.name)) !== undefined) return identity;
  throw new PlatformError("unauthenticated", `user ${identity.name} was removed`);
}
