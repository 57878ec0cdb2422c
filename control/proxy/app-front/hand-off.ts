import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { onBehalfOf } from "../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { formatCredential, newSessionCredential, parseCredential } from "../../browser/session-credential.ts";
import { sameSecret } from "../../same-secret.ts";
import { foreignPage } from "../foreign-page.ts";
import type { AuditQueue } from "../routing/audit-queue.ts";
import { appCookies, appCredential, stateCookie, stateSecret, withoutAppCookies, withoutStateCookie } from "./app-cookies.ts";
import { ownPath } from "./app-path.ts";
import type { AppCall, AppSessions } from "./app-sessions.ts";
import type { AppSite, AppSites } from "./app-sites.ts";
import { handOffHeaders, handOffPage, ownHeaders } from "./hand-off-page.ts";
import { readJson } from "./read-json.ts";
import type { SiteAddresses } from "./site-address.ts";

export interface HandOffServices {
  readonly auth: Pick<AuthClient, "beginAppSession" | "endAppSession">;
  readonly audit: Pick<AuditQueue, "emitRefusal">;
  readonly sessions: Pick<AppSessions, "ended" | "prove" | "userOf">;
  readonly sites: Pick<AppSites, "find">;
  /** Current addresses: ports are known once they are bound. */
  readonly addresses: () => SiteAddresses;
}

/** A request at the host name of an application. */
export interface SiteRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly site: AppSite;
  /** `ip:port` of the client. */
  readonly peer: string;
}

/** Begins an attempt to sign this browser in: its secret goes to the proxy's page and comes back, while the browser keeps it in a cookie. */
export function startHandOff({ request, response, site }: SiteRequest, { addresses }: HandOffServices): void {
  const query = new URL(request.url ?? "/", "https://x").searchParams;
  const state = newSessionCredential();
  const next = query
    .get("next")
    ?.split(",")
    .filter((host) => host !== "");
  const address = addresses().launch(site.host, { path: query.get("path") ?? "/", next });
  const location = `${address}#platform-state=${formatCredential(state)}`;
  response.writeHead(302, { ...ownHeaders, "Set-Cookie": stateCookie(state), Location: location }).end();
}

/** The page that finishes a sign-in at the application's host name. */
export function showHandOff({ response }: Pick<SiteRequest, "response">): void {
  response.writeHead(200, handOffHeaders).end(handOffPage);
}

const bodySchema = z.strictObject({
  state: z.string().max(256),
  session: z.string().max(256),
  subject: z.string().max(256),
  path: z.string().max(8_192),
  next: z.array(z.string().max(253)).max(16),
});
type Body = z.infer<typeof bodySchema>;

/** Takes a session over, from the page of `showHandOff`: answers where to go on to. A refusal ends the session, and is recorded. Throws PlatformError. */
export async function finishHandOff(visit: SiteRequest, services: HandOffServices): Promise<void> {
  const { request, response, site } = visit;
  requireOwnScript(visit, services);
  const sent = await readJson(request);
  const parsed = bodySchema.safeParse(sent);
  if (!parsed.success) throw new PlatformError("invalid", "could not read the request");
  const { data: body } = parsed;
  const state = parseCredential(body.state);
  if (state !== undefined) response.appendHeader("Set-Cookie", withoutStateCookie(state.id));
  const credential = { ...(parseCredential(body.session) ?? { id: "", secret: "" }), subject: body.subject };
  const call = { credential, app: site.app, peer: visit.peer, attempt: body.state };
  try {
    await services.sessions.prove(call, async () => await beginOrEnd(call, () => requireState(request, state), services));
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code !== "unauthenticated" && error.code !== "denied") throw error;
    throw new PlatformError("denied", `access denied: ${error.message}`, { hint: "open the application again", cause: thrown });
  }
  for (const cookie of appCookies(credential)) response.appendHeader("Set-Cookie", cookie);
  const text = JSON.stringify({ location: nextAddress(visit, body, services) });
  response.writeHead(200, { ...ownHeaders, "Content-Type": "application/json; charset=utf-8" }).end(text);
}

/** Begins the session; a refusal ends it, and is recorded. Throws what the auth service and `check` throw. */
async function beginOrEnd({ credential, app, peer }: AppCall, check: () => void, { auth }: HandOffServices): Promise<void> {
  try {
    check();
    await auth.beginAppSession({ credential, app });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code !== "unauthenticated" && error.code !== "denied") throw error;
    await auth.endAppSession({ credential, app, refusal: `could not sign a browser in to an application: ${error.message}` }, onBehalfOf(peer));
    throw error;
  }
}

/** Throws `unauthenticated` unless this browser began the attempt. */
function requireState({ headers }: IncomingMessage, state: ReturnType<typeof parseCredential>): void {
  const kept = state === undefined ? undefined : stateSecret(headers.cookie, state.id);
  if (state !== undefined && kept !== undefined && sameSecret(kept, state.secret)) return;
  throw new PlatformError("unauthenticated", "this sign-in began in another browser, or more than a minute ago");
}

/** The next of the applications that belong together; after the last one, the path that was requested first. */
function nextAddress({ site }: SiteRequest, { path, next }: Body, { sites, addresses }: HandOffServices): string {
  const [following, ...rest] = next.filter((host) => sites.find(host) !== undefined);
  return following === undefined ? ownPath(path, site.host) : addresses().launch(following, { path, next: rest });
}

/** Ends the browser's session with this application. Throws PlatformError. */
export async function logOut(visit: SiteRequest, services: HandOffServices): Promise<void> {
  requireOwnScript(visit, services);
  const { request, response, site, peer } = visit;
  const { auth, sessions } = services;
  const credential = appCredential(request.headers.cookie);
  if (credential !== undefined && (await isThere({ credential, app: site.app, peer }, sessions))) {
    await auth.endAppSession({ credential });
    sessions.ended(credential.id);
  }
  response.writeHead(204, { ...ownHeaders, "Set-Cookie": [...withoutAppCookies()] }).end();
}

/** Whether the session exists; a locked user's does, too. */
async function isThere(call: AppCall, sessions: HandOffServices["sessions"]): Promise<boolean> {
  try {
    await sessions.userOf(call);
    return true;
  } catch (thrown) {
    const { code } = toPlatformError(thrown);
    if (code !== "unauthenticated" && code !== "denied") throw thrown;
    return code === "denied";
  }
}

/** Throws `denied` for a request that a page of another site made, and records it. */
function requireOwnScript({ request, site: { app }, peer }: Omit<SiteRequest, "response">, { audit }: Pick<HandOffServices, "audit">): void {
  const { headers } = request;
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn = (origin === undefined || origin.toLowerCase() === `https://${host.toLowerCase()}`) && (site === undefined || site === "same-origin");
  if (isOwn) return;
  audit.emitRefusal(foreignPage(request, { client: peer, app }));
  throw new PlatformError("denied", "access denied: only pages of this site may do this");
}
