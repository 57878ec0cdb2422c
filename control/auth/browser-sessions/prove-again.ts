import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Given, type LoginWay, loginWith, type Proven } from "../login/login.ts";

/** `loginWith` for a user who is in a browser session: a wrong password or code is `denied`, as `unauthenticated` would mean that the session has ended. */
export async function proveAgain<T>(context: AuthContext, ask: LoginWay, give: (proven: Proven) => Promise<Given<T>>): Promise<T> {
  try {
    return await loginWith(context, ask, give);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    const { hint } = thrown;
    throw new PlatformError("denied", "wrong password or one-time code", { cause: thrown, ...(hint !== undefined && { hint }) });
  }
}
