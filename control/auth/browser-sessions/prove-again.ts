import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Given, type LoginWay, loginWith, type Proven } from "../login/login.ts";

/** `loginWith` for a user who is in a browser session, as `inSession`. */
export async function proveAgain<T>(context: AuthContext, ask: LoginWay, give: (proven: Proven) => Promise<Given<T>>): Promise<T> {
  return await inSession(async () => await loginWith(context, ask, give), "wrong password or one-time code");
}

/** The result of a proof by a user who is in a browser session: a wrong one is `denied`, as `unauthenticated` would mean that the session has ended. */
export async function inSession<T>(prove: () => Promise<T>, wrong?: string): Promise<T> {
  try {
    return await prove();
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    const { hint, message } = thrown;
    throw new PlatformError("denied", wrong ?? message, { cause: thrown, ...(hint !== undefined && { hint }) });
  }
}
