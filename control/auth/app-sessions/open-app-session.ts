import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { marked } from "../../browser/marked.ts";
import { newSessionCredential, secretHash } from "../../browser/session-credential.ts";
import type { UserCaller } from "../api/caller.ts";
import { mayReach, requireSession } from "../api/permissions.ts";
import type { AuthContext } from "../auth-context.ts";
import { findConfirmation, markingOf, spendConfirmation } from "../browser-sessions/confirmations.ts";
import type { SessionUser } from "../browser-sessions/find-session.ts";
import { listOffered } from "../inventory/live-offered.ts";
import type { AppCredential } from "./find-app-session.ts";
import { appSessionRemovals, newAppSessionWrites, type StoredAppSession } from "./stored-app-session.ts";

/** Most sessions with applications that begin from one browser session; the oldest then ends. */
const maxSessions = 50;

export interface NewAppSession {
  readonly credential: AppCredential;
  readonly expires: string;
}

export interface AppSessionWish {
  readonly caller: UserCaller;
  readonly session: SessionUser["session"];
  readonly app: string;
  /** Of the page, where roles demand a code for each session; empty: none. */
  readonly confirmation: string;
}

/**
 * A session with an application, for the application's own host name, where the browser's session with our site is unknown. It ends with that session. The
 * browser gets two secrets for two cookies. It uses up a confirmation. Throws `denied` for an application that the user may not use, whether or not it exists, and
 * `mfa_required` where its sessions need a one-time code and the page has no confirmation for it.
 */
export async function openAppSession(context: AuthContext, { caller, session, app, confirmation }: AppSessionWish): Promise<NewAppSession> {
  const { storage } = context;
  const labels = await usableLabels(context, caller, app);
  const confirmed = await findConfirmation(context, { session, confirmation, address: caller.address, purpose: "app" });
  const identity = marked(caller.identity, confirmed && markingOf(confirmed));
  await requireSession(context, { ...caller, identity }, { kind: "app", served: { name: app, labels } });
  if (confirmed !== undefined) await spendConfirmation(context, confirmed);
  const { id, secret } = newSessionCredential();
  const { secret: subject } = newSessionCredential();
  const stored: StoredAppSession = {
    id,
    browser_session: session.id,
    user: session.user,
    app,
    secret_hash: secretHash(secret),
    subject_hash: secretHash(subject),
    created: context.now().toISOString(),
    expires: session.expires,
    begun: false,
    ...(confirmed !== undefined && { mfa: { device: confirmed.stored.device, address: confirmed.stored.address } }),
  };
  await storage.batch([...newAppSessionWrites(stored), ...(await appSessionRemovals(storage, session.id, maxSessions - 1))]);
  return { credential: { id, secret, subject }, expires: stored.expires };
}

/** Labels of an application that the user may use. Throws `denied`. */
async function usableLabels(context: AuthContext, caller: UserCaller, app: string): Promise<Labels> {
  const { offered, live } = context;
  const reaches = await mayReach(context, caller);
  const usable = listOffered(
    offered,
    live,
    ({ kind, name, labels }, serverId) => kind === "app" && name === app && reaches({ kind, served: { name, labels }, serverId }),
  ).filter(({ isPassedOver }) => !isPassedOver);
  const [first] = usable;
  if (first === undefined) {
    throw new PlatformError(
      "denied",
      `access denied: application ${JSON.stringify(app.slice(0, 64))} does not exist, or your roles do not allow it`,
      {
        hint: "its agent may be offline: try again in a moment, or ask an admin for access",
      },
    );
  }
  return first.labels;
}
