import { createHash } from "node:crypto";
import type { AuthContext } from "../auth-context.ts";
import type { Proof } from "../login/login.ts";
import { userOfHandle } from "./stored-passkeys.ts";
import { type PasskeyAnswer, useAssertion, wrongPasskey } from "./use-assertion.ts";

/**
 * A passkey is password and code in one: its authenticator has verified the user. The user of an answer, and the proof for `loginWith`. `only`: the only user who
 * may log in; empty: any. The name of an unknown user counts as a typed one does.
 */
export async function byPasskey(
  context: AuthContext,
  { answer, only }: { readonly answer: PasskeyAnswer; readonly only: string },
): Promise<{ readonly user: string; readonly proof: Proof }> {
  const handle = answer.assertion.userHandle.toString("hex");
  const known = await userOfHandle(context.storage, handle);
  const isMeant = known !== undefined && (only === "" || only === known);
  const proof: Proof = {
    check: (claimed) => useAssertion(context, claimed, { answer, purpose: { scope: "login" } }),
    wrong: wrongPasskey,
  };
  return { user: isMeant ? known : `passkey of ${createHash("sha256").update(handle).digest("hex")}`, proof };
}
