import { randomBytes } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { Marking } from "../../browser/marked.ts";
import type { UserCaller } from "../api/caller.ts";
import type { AuthContext } from "../auth-context.ts";
import { confirmTarget } from "../certificates/session-target.ts";
import type { Confirmation } from "../login/confirm-session.ts";
import { inSession } from "./prove-again.ts";
import { confirmationRemovals, confirmationWrite, type FoundConfirmation, readConfirmation } from "./stored-confirmation.ts";
import type { StoredSession } from "./stored-session.ts";

/** What a page may open with one confirmation, and the kind of resource in the mark of certificates. */
const purposes = { terminal: "ssh", files: "ssh", join: "join", kube: "kube", app: "app" } as const;
export type ConfirmationPurpose = keyof typeof purposes;

/** Maximum confirmations of one browser session; the oldest then counts no longer. */
const maxConfirmations = 100;
/** Longest text that can be one. */
const maxSecret = 64;

export interface NewConfirmationAsk {
  readonly caller: UserCaller & Required<Pick<UserCaller, "session">>;
  readonly purpose: string;
  readonly name: string;
  readonly login: string;
  readonly confirmation: Confirmation;
}

/**
 * A secret by which a page of this browser session opens what was confirmed, for as long as the session lasts; kept in the memory of that page. Throws as
 * `confirmTarget`, but `denied` for a wrong confirmation.
 */
export async function createConfirmation(context: AuthContext, ask: NewConfirmationAsk): Promise<string> {
  const { caller, purpose, name, login, confirmation } = ask;
  const kind = isPurpose(purpose) ? purposes[purpose] : purpose.slice(0, 64);
  const allowed = (): UserCaller => {
    if (isPurpose(purpose)) return caller;
    throw new PlatformError("invalid", `a page cannot open ${JSON.stringify(purpose.slice(0, 64))}`);
  };
  const target = { kind, name, login, account: "" };
  const confirmed = await inSession(async () => await confirmTarget(context, { caller, ask: target, confirmation, allowed }));
  const secret = randomBytes(32).toString("base64url");
  const stored = {
    purpose,
    kind,
    name: confirmed.name,
    device: confirmed.device,
    address: ipOf(caller.address),
    sees_address: confirmed.seesAddress,
    created: context.now().toISOString(),
  };
  const { session } = caller;
  const removals = await confirmationRemovals(context.storage, session.id, maxConfirmations - 1);
  await context.storage.batch([confirmationWrite(stored, { session, secret }), ...removals]);
  return secret;
}

function isPurpose(text: string): text is ConfirmationPurpose {
  return Object.hasOwn(purposes, text);
}

export interface ConfirmationUse {
  readonly session: Pick<StoredSession, "id">;
  /** Empty: the page has none. */
  readonly confirmation: string;
  /** Of the browser: the one of the confirmation. */
  readonly address: string;
  /** Left out: any. */
  readonly purpose?: ConfirmationPurpose;
}

/**
 * What a page's confirmation confirms; undefined: there is none of this secret, session, address and purpose, so that the page has to ask for another one. Whether
 * it is for the resource in question is decided by its mark.
 */
export async function findConfirmation(
  { storage }: AuthContext,
  { session, confirmation, address, purpose }: ConfirmationUse,
): Promise<FoundConfirmation | undefined> {
  if (confirmation === "" || confirmation.length > maxSecret) return undefined;
  const found = await readConfirmation(storage, session.id, confirmation);
  if (found?.stored.address !== ipOf(address) || (purpose !== undefined && found.stored.purpose !== purpose)) return undefined;
  return found;
}

/** What a confirmation marks certificates with. Pure. */
export function markingOf({ stored: { device, kind, name, address, sees_address: seesAddress } }: FoundConfirmation): Marking {
  return { device, kind, name, sourceIp: seesAddress ? address : "" };
}

/** Uses up a confirmation for one thing alone. Throws `mfa_required` for one that was used meanwhile. */
export async function spendConfirmation({ storage }: AuthContext, { spending }: FoundConfirmation): Promise<void> {
  try {
    await storage.batch([spending]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("mfa_required", "the one-time code has opened something else meanwhile", { hint: "enter another code" });
  }
}
