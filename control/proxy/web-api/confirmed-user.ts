import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { marked } from "../../browser/marked.ts";

/** A user of a browser, and what the page has confirmed. */
export interface ConfirmedVisit {
  readonly identity: UserIdentity;
  /** Of the page, where roles demand a code for each session. */
  readonly confirmation?: string | undefined;
  /** The auth service's API in the user's name. */
  readonly auth: Pick<AuthClient, "getConfirmation">;
  readonly signal: AbortSignal;
}

/** The user with the mark of what the page has confirmed, as in the certificate that the agent sees: for the proxy's own decision. */
export async function confirmedUser({ identity, confirmation = "", auth, signal }: ConfirmedVisit): Promise<UserIdentity> {
  if (confirmation === "") return identity;
  const { device, kind, name, sourceIp } = await auth.getConfirmation({ confirmation }, { signal });
  return marked(identity, { device, kind, name, sourceIp });
}
