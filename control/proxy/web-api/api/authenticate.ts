import type { FastifyRequest } from "fastify";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { bearerOf, parseCredential, type SessionCredential } from "../../../browser/session-credential.ts";
import { sameSecret } from "../../../same-secret.ts";
import { cookieValue, sessionCookie } from "../cookies.ts";

/** A user's session in a browser. */
export interface BrowserUser {
  readonly credential: SessionCredential;
  readonly user: string;
  readonly roles: readonly string[];
  readonly expires: Date;
  /** The request is one by which a page refreshes itself: it does not count as use of the session. */
  readonly isUnused: boolean;
  /** By the user's current roles, for this proxy's own decisions. */
  readonly identity: UserIdentity;
}

/** Sessions of browsers, which the auth service keeps. */
export interface BrowserSessions {
  /** The auth service has just opened the session of this credential. */
  opened(credential: SessionCredential): void;
  /** Throws `unauthenticated` for a session that is unknown, ended or expired, and `denied` for a locked user. `isUnused`: it does not count as use of the session. */
  find(credential: SessionCredential, address: string, isUnused?: boolean): Promise<BrowserUser>;
  /** The auth service's API in the user's name, for a browser at this address. */
  clientOf(user: BrowserUser, address: string): AuthClient;
}

const loginHint = "log in again";
/** Header of a request by which a page refreshes itself while nobody uses it (web/api/page-use.ts). */
const unusedHeader = "platform-unused";

/** The session of a request's cookie. Throws `unauthenticated`. */
export async function requireSession(
  request: Pick<FastifyRequest, "headers">,
  sessions: Pick<BrowserSessions, "find">,
  address: string,
): Promise<{ readonly user: BrowserUser; readonly credential: SessionCredential }> {
  const value = cookieValue(request.headers.cookie, sessionCookie);
  const credential = value === undefined ? undefined : parseCredential(value);
  if (credential === undefined) throw new PlatformError("unauthenticated", "this browser is not logged in", { hint: loginHint });
  return { user: await sessions.find(credential, address, request.headers[unusedHeader] !== undefined), credential };
}

/** Throws `denied` unless the request carries the token of this very session. */
export function requireBearer({ headers }: Pick<FastifyRequest, "headers">, credential: SessionCredential): void {
  const [, token] = /^Bearer ([A-Za-z0-9_-]{1,128})$/i.exec(headers.authorization ?? "") ?? [];
  if (token !== undefined && isBearerOf(token, credential)) return;
  throw new PlatformError("denied", "access denied: the request does not carry this session's token", { hint: "reload the page" });
}

/** Whether a token is that of the session. */
export function isBearerOf(token: string, credential: SessionCredential): boolean {
  return sameSecret(token, bearerOf(credential));
}

/**
 * Throws `denied` for a request that a page of another site made; an application under a sub-domain of ours is another site too. Programs that are not
 * browsers send none of these headers. The browser has compared Host with the web certificate. `refused` is called before the refusal.
 */
export function requireOwnPage({ headers }: Pick<FastifyRequest, "headers">, refused: () => unknown): void {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  const isOwnOrigin = origin === undefined || origin.toLowerCase() === `https://${host.toLowerCase()}`;
  if (isOwnOrigin && (site === undefined || site === "same-origin" || (site === "none" && origin === undefined))) return;
  refused();
  throw new PlatformError("denied", "access denied: the API answers only pages of this site");
}
