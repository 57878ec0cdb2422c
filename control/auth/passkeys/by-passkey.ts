import { clientNetwork } from "../../limits/request-limit.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Proof } from "../login/login.ts";
import { readUserId } from "../users/users.ts";
import { readPasskeys, userOfHandle } from "./stored-passkeys.ts";
import { type PasskeyAnswer, useAssertion, wrongPasskey } from "./use-assertion.ts";
import type { Assertion } from "./webauthn.ts";

/**
 * A passkey is password and code in one: its authenticator has verified the user. The user of an answer, and the proof for `loginWith`. `only`: the only user who
 * may log in; empty: any. A passkey that is none of the user's, as one that was removed here and not from its device, counts as that of an unknown user: it must
 * not lock the user's password out. All unknown ones of a network count under one name, as a typed one does: strangers can make up any number of handles.
 */
export async function byPasskey(
  context: AuthContext,
  { answer, only, address }: { readonly answer: PasskeyAnswer; readonly only: string; readonly address: string },
): Promise<{ readonly user: string; readonly proof: Proof }> {
  const { assertion } = answer;
  const owner = await ownerOf(context, assertion);
  const isMeant = owner !== undefined && (only === "" || only === owner);
  const proof: Proof = {
    check: (claimed) => useAssertion(context, claimed, { answer, purpose: { scope: "login" } }),
    wrong: wrongPasskey,
  };
  return { user: isMeant ? owner : `unknown passkey from ${clientNetwork(address)}`, proof };
}

/** The owner of this passkey, found by the user handle in the answer. */
async function ownerOf({ storage }: Pick<AuthContext, "storage">, { userHandle, credentialId }: Assertion): Promise<string | undefined> {
  const user = await userOfHandle(storage, userHandle.toString("hex"));
  if (user === undefined) return undefined;
  const { passkeys = [] } = (await readPasskeys(storage, user, await readUserId(storage, user))) ?? {};
  return passkeys.some((one) => one.credential_id === credentialId.toString("base64url")) ? user : undefined;
}
