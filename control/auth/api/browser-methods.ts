import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetAppSessionResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { marked } from "../../browser/marked.ts";
import {
  beginAppSession,
  endAppSession,
  endedAppSessions,
  endRefused,
  recordRefusal,
  requireCredential,
  signBrowserApp,
  useAppSession,
} from "../app-sessions/find-app-session.ts";
import { openAppSession } from "../app-sessions/open-app-session.ts";
import { confirmAuthenticator, startAuthenticator } from "../browser-sessions/change-authenticator.ts";
import { changePassword } from "../browser-sessions/change-password.ts";
import { createConfirmation, findConfirmation, markingOf } from "../browser-sessions/confirmations.ts";
import { endAllSessions, endSession } from "../browser-sessions/end-sessions.ts";
import { endedSessions } from "../browser-sessions/find-session.ts";
import { openSession, openSessionByPasskey } from "../browser-sessions/open-session.ts";
import { type StoredSession, sessionsOf } from "../browser-sessions/stored-session.ts";
import { signBrowserSsh } from "../certificates/sign-browser-ssh.ts";
import { signRelayedServed } from "../certificates/sign-relayed-served.ts";
import { actorOf, type Caller, hostOf, inBrowser, type UserCaller, userOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { passkeyAnswer } from "./passkey-methods.ts";

type SessionMethods = "createBrowserSession" | "getBrowserSession" | "listBrowserSessions" | "endBrowserSession";
type CredentialMethods = "changePassword" | "startAuthenticator" | "confirmAuthenticator";

/** Sessions of browsers with our site. */
export function browserMethods(api: Api): Handlers<SessionMethods | CredentialMethods> {
  const { context, rateLimit } = api;
  return {
    ...credentialMethods(api),
    createBrowserSession: async ({ user, password, code, userAgent, passkey }, { address }) => {
      rateLimit.take(address, context.now());
      const { session, secret } =
        passkey === undefined
          ? await openSession(context, { user, password, code, userAgent, address })
          : await openSessionByPasskey(context, { user, answer: passkeyAnswer(passkey), userAgent, address });
      return { session: { ...message(session, session.id) }, secret };
    },
    getBrowserSession: async (_request, caller) => {
      const { identity, session } = inBrowser(caller);
      const { userId = "", roles, sourceIp = "" } = identity;
      return { ...message(session, session.id), userId, roles: [...roles], traits: traitsMessage(identity), sourceIp };
    },
    listBrowserSessions: async (_request, caller) => {
      const { identity, session } = userOf(caller);
      return { sessions: (await sessionsOf(context.storage, identity.name)).map((one) => message(one, session?.id)) };
    },
    endBrowserSession: async ({ id, all }, caller) => {
      const user = userOf(caller).identity.name;
      if (all) return { ended: await endAllSessions(context, { user, actor: actorOf(caller) }) };
      await endSession(context, { user, id: id === "" ? inBrowser(caller).session.id : id, actor: actorOf(caller) });
      return { ended: 1 };
    },
  };
}

/** Changes of the caller's own password and authenticator. */
function credentialMethods({ context, rateLimit }: Api): Handlers<CredentialMethods> {
  const asked = (caller: Caller) => {
    const { identity, session, address } = inBrowser(caller);
    rateLimit.take(address, context.now());
    return { user: identity.name, userId: identity.userId, sessionId: session.id, address };
  };
  return {
    changePassword: async ({ password, code, newPassword, removePasskeys }, caller) => ({
      ended: await changePassword(context, { ...asked(caller), password, code, newPassword, removePasskeys }),
    }),
    startAuthenticator: async ({ password, code }, caller) => ({
      otpauthUri: await startAuthenticator(context, { ...asked(caller), password, code }),
    }),
    confirmAuthenticator: async ({ code, removePasskeys }, caller) => ({
      ended: await confirmAuthenticator(context, { ...asked(caller), code, removePasskeys }),
    }),
  };
}

type ConfirmationMethods = "createConfirmation" | "getConfirmation";

/** Terminals, files and clusters of browsers, and what confirms them. */
export function terminalMethods({ context }: Api): Handlers<"signBrowserSsh" | "signBrowserKube" | ConfirmationMethods> {
  return {
    createConfirmation: async ({ purpose, name, login, code }, caller) => {
      const ask = { caller: inBrowser(caller), purpose, name, login, confirmation: { kind: "code", code } } as const;
      return { confirmation: await createConfirmation(context, ask) };
    },
    getConfirmation: async ({ confirmation }, caller) => {
      const { session, address } = inBrowser(caller);
      const found = await findConfirmation(context, { session, confirmation, address });
      return found === undefined ? {} : { ...markingOf(found) };
    },
    signBrowserSsh: async ({ sshPublicKey, host, login, sessionId, mode, confirmation, files }, caller) => {
      const { identity, session, proxyId, address } = inBrowser(caller);
      if (proxyId === undefined) throw new Error("a browser's call came without its proxy");
      const target = host === "" ? ({ kind: "join", sid: sessionId, mode } as const) : ({ kind: "ssh", host, login, files } as const);
      return { sshCertificate: await signBrowserSsh(context, { identity, session, confirmation, proxyId, address, sshPublicKey, target }) };
    },
    signBrowserKube: async ({ kube, hostId, tlsPublicKey, confirmation }, caller) => {
      const { identity, session, proxyId, address: clientAddress } = inBrowser(caller);
      if (proxyId === undefined) throw new Error("a browser's call came without its proxy");
      const confirmed = await findConfirmation(context, { session, confirmation, address: clientAddress, purpose: "kube" });
      const inCluster = { ...marked(identity, confirmed && markingOf(confirmed)), route: { kind: "kube", name: kube } } as const;
      const ask = { identity: inCluster, hostId, tlsPublicKey, clientAddress, proxyId, actor: actorOf(caller) };
      return { tlsCertificate: await signRelayedServed(context, ask) };
    },
  };
}

type AppMethods = "createAppSession" | "beginAppSession" | "getAppSession" | "checkAppSessions" | "endAppSession" | "signBrowserApp";

/** Most sessions that one call checks. */
const maxChecked = 10_000;

/** Sessions of browsers with applications. */
export function appSessionMethods({ context, rateLimit }: Api): Handlers<AppMethods> {
  return {
    createAppSession: async ({ app, confirmation }, caller) => await openAppSession(context, { ...inBrowserCaller(caller), app, confirmation }),
    beginAppSession: async ({ credential, app }) => userMessage(await beginAppSession(context, { credential: requireCredential(credential), app })),
    getAppSession: async ({ credential, app }) => userMessage(await useAppSession(context, { credential: requireCredential(credential), app })),
    checkAppSessions: async ({ ids, browserIds }) => {
      if (Math.max(ids.length, browserIds.length) > maxChecked) throw new PlatformError("limit", `one call checks at most ${maxChecked} sessions`);
      return { endedIds: [...(await endedAppSessions(context, ids)), ...(await endedSessions(context, browserIds))] };
    },
    endAppSession: async ({ credential: sent, refusal, app }, { address }) => {
      const credential = requireCredential(sent);
      if (refusal === "") await endAppSession(context, { credential });
      else {
        const session = await endRefused(context, credential);
        // Any client of the proxy can cause the record.
        rateLimit.take(address, context.now());
        recordRefusal(context, { session, app, reason: refusal, address });
      }
      return {};
    },
    signBrowserApp: async ({ credential: sent, app, hostId, tlsPublicKey, clientAddress }, caller) => {
      const credential = requireCredential(sent);
      const proxy = hostOf(caller);
      context.quotas.connection(proxy);
      const ask = { credential, app, hostId, tlsPublicKey, clientAddress, proxyId: proxy.id, actor: actorOf(caller) };
      return { tlsCertificate: await signBrowserApp(context, ask) };
    },
  };
}

function inBrowserCaller(caller: Caller): { readonly caller: UserCaller; readonly session: StoredSession } {
  const user = inBrowser(caller);
  return { caller: user, session: user.session };
}

type AppUser = Awaited<ReturnType<typeof useAppSession>>;

/** The user's identity, for the proxy's own decision. */
function userMessage({ session, identity }: AppUser): MessageInitShape<typeof GetAppSessionResponseSchema> {
  const { name: user, userId = "", roles, sourceIp = "" } = identity;
  const { device: mfaDevice = "", address: mfaSourceIp = "" } = session.mfa ?? {};
  return { user, expires: session.expires, userId, roles: [...roles], traits: traitsMessage(identity), sourceIp, mfaDevice, mfaSourceIp };
}

function traitsMessage({ traits }: Pick<UserIdentity, "traits">): Record<string, { values: string[] }> {
  return Object.fromEntries(Object.entries(traits).map(([name, values]) => [name, { values: [...values] }]));
}

function message(session: StoredSession, current: string | undefined) {
  const { id, user, created, expires, last_used: lastUsed, address, user_agent: userAgent } = session;
  return { id, user, created, expires, lastUsed, address, userAgent, current: id === current };
}
