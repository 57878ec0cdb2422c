import { authorize } from "../../../core/access/authorize.ts";
import { authorizeJoin } from "../../../core/access/authorize-join.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { toSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { joinModes } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { marked } from "../../browser/marked.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { type ConfirmationPurpose, findConfirmation, markingOf, spendConfirmation } from "../browser-sessions/confirmations.ts";
import type { StoredSession } from "../browser-sessions/stored-session.ts";
import { getAnyNode } from "../inventory/all-nodes.ts";
import { findActiveSession } from "../sessions/active-sessions.ts";

/** A terminal or files: on a host; or a terminal in a session that runs there. */
export type BrowserTarget =
  | { readonly kind: "ssh"; readonly host: string; readonly login: string; readonly files: boolean }
  | { readonly kind: "join"; readonly sid: string; readonly mode: string };

export interface BrowserSshAsk {
  /** The user of the browser's session, valid until its end. */
  readonly identity: UserIdentity;
  readonly proxyId: string;
  /** Address of the browser. */
  readonly address: string;
  /** The proxy's own key, for one connection. */
  readonly sshPublicKey: string;
  readonly target: BrowserTarget;
  readonly session: Pick<StoredSession, "id">;
  /** Of the page, where roles demand a code for each session; empty: none. */
  readonly confirmation: string;
}

/** Validity, ms: a terminal begins at once, and then lasts as the browser's session allows; the clocks of hosts differ a little. */
const validityMs = 300_000;
/** Of one that a code has confirmed: time to open a connection, as for `tsh`. */
const confirmedMs = 60_000;

/**
 * A certificate line with which a proxy opens a terminal for the user of a browser, marked with the proxy's id. It lists no login but the wanted one. The host
 * decides again. A confirmation of a terminal is used up. Throws `denied`, `not_found`, `invalid`, `mfa_required`; `limit` where the user has had too many certificates of this kind.
 */
export async function signBrowserSsh(context: AuthContext, ask: BrowserSshAsk): Promise<string> {
  const { address, target, session, confirmation } = ask;
  context.quotas.connectionOf(ask.identity.name, "ssh");
  const purpose = purposeOf(target);
  const confirmed = await findConfirmation(context, { session, confirmation, address, purpose });
  const identity = marked(ask.identity, confirmed && markingOf(confirmed));
  const facts = { ...ask, identity };
  const { login } = target.kind === "ssh" ? await requireHostAccess(context, facts, target) : await requireJoin(context, facts, target);
  if (confirmed !== undefined && purpose === "terminal") await spendConfirmation(context, confirmed);
  const now = context.now();
  const until = identity.validBefore;
  const lasts = confirmed === undefined ? validityMs : confirmedMs;
  const validBefore = new Date(Math.min(until.getTime(), Math.floor((now.getTime() + lasts) / 1000) * 1000));
  const principals = { ssh: { login: login === undefined ? [] : [login] } };
  const fields = toSshCertificate({ ...identity, principals, relayed: { by: ask.proxyId, until: until.toISOString() }, validBefore });
  const line = context.authorities.issueSsh("user", fields, { sshPublicKey: ask.sshPublicKey, now });
  const expires = validBefore.toISOString();
  context.audit.emit({ event: "cert.create", user: identity.name, name: identity.name, kind: "user", expires, "addr.remote": address });
  return line;
}

function purposeOf(target: BrowserTarget): ConfirmationPurpose {
  if (target.kind === "join") return "join";
  return target.files ? "files" : "terminal";
}

async function requireHostAccess(
  context: AuthContext,
  ask: BrowserSshAsk,
  { host, login }: Extract<BrowserTarget, { kind: "ssh" }>,
): Promise<{ readonly login: string }> {
  const { metadata, spec } = await getAnyNode(context, host).catch((thrown: unknown) => {
    // Only users with access learn whether a host exists.
    if (thrown instanceof PlatformError && thrown.code === "not_found") throw unseen(host, login);
    throw thrown;
  });
  const node = { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} };
  authorize({ ...(await decisionFacts(context, ask)), ask: { kind: "ssh", node, login } });
  return { login };
}

function unseen(host: string, login: string): PlatformError {
  return new PlatformError(
    "denied",
    `access denied: host ${JSON.stringify(host.slice(0, 64))} does not exist, or your roles do not allow you to log in to it as ${login.slice(0, 64)}`,
  );
}

/** Participants have no login of their own on the host. */
async function requireJoin(
  context: AuthContext,
  ask: BrowserSshAsk,
  { sid, mode: named }: Extract<BrowserTarget, { kind: "join" }>,
): Promise<{ readonly login: undefined }> {
  const mode = joinModes.find((one) => one === named);
  if (mode === undefined) throw new PlatformError("invalid", `unknown join mode ${JSON.stringify(named.slice(0, 64))}; use observer or peer`);
  authorizeJoin({ ...(await decisionFacts(context, ask)), sid, mode, session: await findActiveSession(context, sid) });
  return { login: undefined };
}

async function decisionFacts(context: AuthContext, { identity, address }: BrowserSshAsk) {
  const roles = await rolesNamed(context.storage, identity.roles);
  return { identity, roles, locks: await listLocks(context.storage), clientIp: ipOf(address), now: context.now() };
}
