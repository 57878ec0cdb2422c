import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { onBehalfOf } from "../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { browserSessionSchema } from "../../../core/api/web/browser-sessions.ts";
import { type AssertionJson, assertionSchema } from "../../../core/api/web/passkeys.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { bearerOf, formatCredential, parseCredential } from "../../browser/session-credential.ts";
import type { Api } from "./api/api.ts";
import { apiRoute } from "./api/api-route.ts";
import { cookieValue, sessionCookie, setCookie } from "./cookies.ts";
import { assertionMessage, passkeyBrowser, passkeySite } from "./passkeys/passkey-browser.ts";
import type { PingFacts } from "./ping.ts";

export interface SessionServices {
  readonly auth: Pick<AuthClient, "createBrowserSession">;
  readonly now: () => Date;
  /** Called once sessions have ended, so that what began from them ends here at once. */
  readonly sessionsEnded: () => void;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
}

export const loginSchema = z.strictObject({
  user: z.string().min(1).max(256),
  password: z.string().min(1).max(1024),
  code: z.string().trim().min(1).max(16),
});

/** Number of other sessions that ended. */
export const endedSchema = z.object({ ended: z.int() });

/** `user`: the only one who may log in; left out: any. */
const passkeyLoginSchema = z.strictObject({ user: loginSchema.shape.user.optional(), passkey: assertionSchema });

const openedSchema = z.object({
  /** For `Authorization: Bearer` of every further call, from memory alone; it is good together with the cookie. */
  token: z.string(),
  user: z.string(),
  roles: z.array(z.string()),
  expires: z.string(),
});

/**
 * Sessions of browsers: `POST /webapi/v1/sessions` logs in, `GET /webapi/v1/session` gives a page of this site the token of the browser's session, and DELETE
 * ends one's own session, another one of one's own, or all of them.
 */
export function sessionRoutes(api: Api, services: SessionServices): void {
  addLogin(api, services);
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/session",
    summary: "Shows the session of the browser's cookie, with its token.",
    authentication: "session",
    schema: { answer: openedSchema },
    handler: ({ browser: { credential, user, roles, expires } }) => ({
      token: bearerOf(credential),
      user,
      roles: [...roles],
      expires: expires.toISOString(),
    }),
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/sessions",
    summary: "Lists the user's sessions in browsers, the newest first.",
    schema: { answer: z.object({ sessions: z.array(browserSessionSchema) }) },
    handler: async ({ auth }) => {
      const { sessions } = await auth.listBrowserSessions({});
      return {
        sessions: sessions.map(({ id, created, lastUsed, expires, address, userAgent, current }) => {
          return { id, created, last_used: lastUsed, expires, address, agent: userAgent, is_current: current };
        }),
      };
    },
  });
  addEnds(api, services);
}

function addLogin(api: Api, { auth, now, ping }: SessionServices): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/sessions",
    summary: "Logs in by password and one-time code, or by a passkey: sets the cookie, and answers the token.",
    public: true,
    schema: { body: z.union([loginSchema, passkeyLoginSchema]), answer: openedSchema },
    handler: async ({ body, request, reply, address }) => {
      const userAgent = (request.headers["user-agent"] ?? "").slice(0, 256);
      const proof = "passkey" in body ? { user: body.user ?? "", passkey: passkeyProof(body.passkey, request, ping()) } : body;
      const { session, secret } = await auth.createBrowserSession({ ...proof, userAgent }, onBehalfOf(address));
      if (session === undefined) throw new PlatformError("internal", "the auth service answered no session");
      const credential = { id: session.id, secret };
      api.sessions.opened(credential);
      await endEarlier(api, { cookie: request.headers.cookie, address });
      const maxAge = Math.max(0, Math.floor((new Date(session.expires).getTime() - now().getTime()) / 1000));
      void reply.header("Set-Cookie", setCookie(sessionCookie, formatCredential(credential), { sameSite: "Strict", maxAge }));
      const found = await api.sessions.find(credential, address);
      return { token: bearerOf(credential), user: found.user, roles: [...found.roles], expires: session.expires };
    },
  });
}

function passkeyProof(sent: AssertionJson, request: Pick<FastifyRequest, "headers">, facts: PingFacts) {
  return { assertion: assertionMessage(sent), site: passkeySite(request, facts), browser: passkeyBrowser(request.headers.cookie) };
}

/** A browser has one session: the one before would be left without its cookie. One that has ended already is not a failure. */
async function endEarlier({ sessions }: Api, { cookie, address }: { readonly cookie: string | undefined; readonly address: string }): Promise<void> {
  const value = cookieValue(cookie, sessionCookie);
  const credential = value === undefined ? undefined : parseCredential(value);
  if (credential === undefined) return;
  try {
    await sessions.clientOf(await sessions.find(credential, address), address).endBrowserSession({});
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
  }
}

function addEnds(api: Api, { sessionsEnded }: SessionServices): void {
  const withoutCookie = setCookie(sessionCookie, "", { sameSite: "Strict", maxAge: 0 });
  const end = async (auth: Pick<AuthClient, "endBrowserSession">, which: { id?: string; all?: boolean }): Promise<void> => {
    await auth.endBrowserSession(which);
    sessionsEnded();
  };
  apiRoute(api, {
    method: "DELETE",
    path: "/webapi/v1/session",
    summary: "Logs out.",
    schema: {},
    handler: async ({ auth, reply }) => {
      await end(auth, {});
      void reply.header("Set-Cookie", withoutCookie);
      return undefined;
    },
  });
  apiRoute(api, {
    method: "DELETE",
    path: "/webapi/v1/sessions",
    summary: "Logs out everywhere: ends all sessions of the user in browsers.",
    schema: {},
    handler: async ({ auth, reply }) => {
      await end(auth, { all: true });
      void reply.header("Set-Cookie", withoutCookie);
      return undefined;
    },
  });
  apiRoute(api, {
    method: "DELETE",
    path: "/webapi/v1/sessions/:id",
    summary: "Ends one session of the user in a browser.",
    schema: { params: z.object({ id: z.uuid() }) },
    handler: async ({ auth, params }) => {
      await end(auth, { id: params.id });
      return undefined;
    },
  });
}
