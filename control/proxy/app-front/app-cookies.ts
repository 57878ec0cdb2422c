import { formatCredential, parseCredential, type SessionCredential } from "../../browser/session-credential.ts";
import { cookieValue, ownCookiePrefix, setCookie } from "../web-api/cookies.ts";
import type { AppCredential } from "./app-sessions.ts";

/* Cookies at the host name of an application. */

/** `<id>.<secret>` of the session, and its second secret: knowing one of them is not enough. */
const names = { session: `${ownCookiePrefix}app`, subject: `${ownCookiePrefix}app_subject` } as const;

/** Time for one hand-off, seconds. */
const stateSeconds = 60;

/** The session credential in a browser's cookies; undefined if there is none of the right form. */
export function appCredential(header: string | undefined): AppCredential | undefined {
  const credential = parseCredential(cookieValue(header, names.session) ?? "");
  const subject = cookieValue(header, names.subject);
  return credential === undefined || subject === undefined || !/^[\w-]{43}$/.test(subject) ? undefined : { ...credential, subject };
}

/**
 * The cookies of a session, for requests from other sites too: the identity provider of an application with its own login sends the browser back with a
 * form.
 */
export function appCookies({ id, secret, subject }: AppCredential): readonly string[] {
  return [setCookie(names.session, formatCredential({ id, secret }), { sameSite: "None" }), setCookie(names.subject, subject, { sameSite: "None" })];
}

export function withoutAppCookies(): readonly string[] {
  return [names.session, names.subject].map((name) => setCookie(name, "", { sameSite: "None", maxAge: 0 }));
}

/** The cookie of one sign-in attempt, named by the attempt: several tabs may sign in at the same time. */
export function stateCookie({ id, secret }: SessionCredential): string {
  return setCookie(stateName(id), secret, { sameSite: "Strict", maxAge: stateSeconds });
}

export function withoutStateCookie(id: string): string {
  return setCookie(stateName(id), "", { sameSite: "Strict", maxAge: 0 });
}

/** The secret of an attempt, from the browser's cookies. */
export function stateSecret(header: string | undefined, id: string): string | undefined {
  return cookieValue(header, stateName(id));
}

function stateName(id: string): string {
  return `${ownCookiePrefix}state_${id}`;
}
