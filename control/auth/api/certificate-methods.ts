import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { authorityNames, isOfFirstRelease } from "../../../core/kinds/authority-kinds.ts";
import { writeDocuments } from "../../../core/resources/document.ts";
import { type Rotation, rotationDocument, rotationPhases } from "../../../core/resources/rotation.ts";
import type { AuthContext } from "../auth-context.ts";
import { nameIn } from "../certificates/presented-user.ts";
import { signAppToken, tokenFacts } from "../certificates/sign-app-token.ts";
import { signDatabaseClient, signDatabaseServer } from "../certificates/sign-database.ts";
import { signHost } from "../certificates/sign-host.ts";
import { signOwnUser } from "../certificates/sign-own-user.ts";
import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { signRelayedApp, signRelayedDatabase, signRelayedKube } from "../certificates/sign-relayed-client.ts";
import { signSession } from "../certificates/sign-session.ts";
import { signUser } from "../certificates/sign-user.ts";
import { listRotations, rotate } from "../rotation/rotate.ts";
import { actorOf, hostOf } from "./caller.ts";
import { clusterFacts } from "./cluster-methods.ts";
import type { Api, Handlers } from "./guard.ts";

/** Certificates that the authorities sign for admins and for users themselves, and rotation. */
export function authorityMethods(api: Api): Handlers<"signUser" | "signOwnUser" | "signSession" | "signHost" | "getRotations" | "rotateAuthority"> {
  const { context } = api;
  return {
    signUser: async ({ user, sshPublicKey, tlsPublicKey, ttlSeconds, routeKind, routeName, routeAccount }, caller) => {
      const route = { routeKind, routeName, routeAccount };
      const issued = await signUser(context, { user, sshPublicKey, tlsPublicKey, ttlSeconds, ...route, actor: actorOf(caller) });
      return { ...issued, cluster: clusterFacts(context) };
    },
    signOwnUser: async ({ routeKind, routeName, routeAccount, tlsPublicKey, ttlSeconds }, caller) => ({
      tlsCertificate: await signOwnUser(context, { routeKind, routeName, routeAccount, tlsPublicKey, ttlSeconds, caller }),
    }),
    signSession: async ({ kind, name, login, account, code, sshPublicKey, tlsPublicKey }, caller) =>
      await signSession(context, { kind, name, login, account, code, sshPublicKey, tlsPublicKey, caller }),
    signHost: async ({ names, sshPublicKey, ttlSeconds }, caller) => {
      const sshCertificate = await signHost(context, { names, sshPublicKey, ttlSeconds, actor: actorOf(caller) });
      return { sshCertificate, cluster: clusterFacts(context) };
    },
    getRotations: async () => rotationLists(await listRotations(context)),
    rotateAuthority: async ({ authority, phase: named, graceSeconds, manual }, caller) => {
      const kind = oneOf("authority", authorityNames, authority);
      const phase = named === "" ? undefined : oneOf("phase", rotationPhases, named);
      const after = await rotate(context, { kind, phase, graceSeconds, manual, actor: actorOf(caller) });
      return rotationLists([after]);
    },
  };
}

/** The two lists of an answer: the first has only what a `tctl` of the first release can read (auth.proto). */
function rotationLists(rotations: readonly Rotation[]): { rotationsJson: string[]; serviceRotationsJson: string[] } {
  const first = rotations.filter(({ authority }) => isOfFirstRelease(authority));
  const later = rotations.filter(({ authority }) => !isOfFirstRelease(authority));
  return { rotationsJson: writeDocuments(rotationDocument, first), serviceRotationsJson: writeDocuments(rotationDocument, later) };
}

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Handlers<"signRelayedHost" | "signRelayedUser"> {
  const { context } = api;
  return {
    signRelayedHost: async ({ host, sshPublicKey }, caller) => {
      context.quotas.connection(hostOf(caller));
      return { sshCertificate: await signRelayedHost(context, { host, sshPublicKey, actor: actorOf(caller) }) };
    },
    signRelayedUser: async ({ host, sshPublicKey, proof, signature, clientAddress }, caller) => {
      context.quotas.connection(hostOf(caller));
      const ask = { host, sshPublicKey, proof, signature, clientAddress };
      return { sshCertificate: await signRelayedUser(context, { ...ask, actor: actorOf(caller) }) };
    },
  };
}

/** Certificates for databases: of agents and proxies for their users, and of servers for admins. */
export function databaseMethods(api: Api): Handlers<"signRelayedDatabase" | "signDatabaseClient" | "signDatabaseServer"> {
  const { context } = api;
  return {
    signRelayedDatabase: async ({ userCertificate, hostId, tlsPublicKey, clientAddress }, caller) => {
      const proxy = hostOf(caller);
      takeDatabaseQuota(context, proxy, userCertificate);
      const ask = { userCertificate: Buffer.from(userCertificate), hostId, tlsPublicKey, clientAddress };
      return { tlsCertificate: await signRelayedDatabase(context, { ...ask, proxyId: proxy.id, actor: actorOf(caller) }) };
    },
    signDatabaseClient: async ({ database, account, tlsPublicKey, userCertificate, proof, clientAddress, asAdmin }, caller) => {
      const host = hostOf(caller);
      takeDatabaseQuota(context, host, userCertificate);
      const ask = { hostId: host.id, database, account, tlsPublicKey, clientAddress, asAdmin };
      const user = { userCertificate: Buffer.from(userCertificate), proof: Buffer.from(proof) };
      const tlsCertificate = await signDatabaseClient(context, { ...ask, ...user });
      return { tlsCertificate, dbCaPem: context.authorities.trusted("db").map(({ pem }) => pem) };
    },
    signDatabaseServer: async ({ names, tlsPublicKey, ttlSeconds, withOrganization }, caller) => ({
      tlsCertificate: await signDatabaseServer(context, { names, tlsPublicKey, ttlSeconds, withOrganization, actor: actorOf(caller) }),
      dbClientCaPem: context.authorities.trusted("db_client").map(({ pem }) => pem),
      clusterName: context.clusterName,
    }),
  };
}

/** Throws `limit`. */
function takeDatabaseQuota({ quotas }: Pick<AuthContext, "quotas">, host: HostIdentity, userCertificate: Uint8Array): void {
  const user = nameIn(userCertificate);
  if (user !== undefined) quotas.databaseUser(host, user);
  quotas.databaseCertificate(host);
}

/** For agents of applications, and proxies in front of them and of Kubernetes clusters. */
export function appMethods(api: Api): Handlers<"signRelayedApp" | "signRelayedKube" | "signAppToken"> {
  const { context } = api;
  return {
    signRelayedApp: async ({ userCertificate, hostId, tlsPublicKey, clientAddress }, caller) => {
      const proxy = hostOf(caller);
      context.quotas.connection(proxy);
      const ask = { userCertificate: Buffer.from(userCertificate), hostId, tlsPublicKey, clientAddress };
      return { tlsCertificate: await signRelayedApp(context, { ...ask, proxyId: proxy.id, actor: actorOf(caller) }) };
    },
    signRelayedKube: async ({ userCertificate, hostId, tlsPublicKey, clientAddress }, caller) => {
      const proxy = hostOf(caller);
      context.quotas.connection(proxy);
      const ask = { userCertificate: Buffer.from(userCertificate), hostId, tlsPublicKey, clientAddress };
      return { tlsCertificate: await signRelayedKube(context, { ...ask, proxyId: proxy.id, actor: actorOf(caller) }) };
    },
    signAppToken: async ({ app, uri, userCertificate, clientAddress, claims: named }, caller) => {
      const host = hostOf(caller);
      context.quotas.connection(host);
      const claims = oneOf("choice of claims", tokenFacts, named);
      const ask = { hostId: host.id, app, uri, userCertificate: Buffer.from(userCertificate), clientAddress, claims };
      const { token, expires } = await signAppToken(context, ask);
      return { token, expires: expires.toISOString() };
    },
  };
}

function oneOf<T extends string>(what: string, known: readonly T[], text: string): T {
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new PlatformError("invalid", `unknown ${what} ${JSON.stringify(text.slice(0, 64))}; known are ${known.join(", ")}`);
}
