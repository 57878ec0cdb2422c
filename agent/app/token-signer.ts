import { createHash } from "node:crypto";
import { ipOf } from "../../core/transport/host-port.ts";
import type { ServiceDeps } from "../service/service.ts";
import type { AppDeps, AppToken, TokenFacts } from "./app-deps.ts";

/** Maximum number of tokens that are kept; the oldest one is dropped first. */
const most = 1_000;

interface Kept {
  readonly token: Promise<AppToken>;
  /** Time until which it is given to further connections, ms; unknown while it is being signed. */
  until: number;
}

/**
 * Tokens from the auth service, which checks again that this host offers the application and that the user may use it. Connections of the same user, from
 * the same address to the same application, share one for half of its validity; a change of roles, locks or authorities ends that.
 */
export function tokenSigner(
  { auth, access, now = () => new Date() }: Pick<ServiceDeps, "auth" | "access" | "now">,
  signal: AbortSignal,
): AppDeps["signToken"] {
  const kept = new Map<string, Kept>();
  access.follow(() => kept.clear(), signal);
  const sign = async ({ app, uri, userCertificate, clientAddress, claims }: TokenFacts): Promise<AppToken> => {
    const { token, expires } = await (await auth()).signAppToken({ app, uri, userCertificate, clientAddress, claims });
    return { token, expires: new Date(expires) };
  };
  return async (facts) => {
    const key = keyOf(facts);
    const known = kept.get(key);
    if (known !== undefined && now().getTime() < known.until) return await known.token;
    const fresh: Kept = { token: sign(facts), until: Number.POSITIVE_INFINITY };
    kept.delete(key);
    kept.set(key, fresh);
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    try {
      const token = await fresh.token;
      fresh.until = (now().getTime() + token.expires.getTime()) / 2;
      return token;
    } catch (thrown) {
      if (kept.get(key) === fresh) kept.delete(key);
      throw thrown;
    }
  };
}

function keyOf({ app, uri, userCertificate, clientAddress, claims }: TokenFacts): string {
  const user = createHash("sha256").update(userCertificate).digest("hex");
  return JSON.stringify([user, app, uri, ipOf(clientAddress), claims]);
}
