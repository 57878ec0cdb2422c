import { browserSessionHeader, clientAddressHeader, unusedSessionHeader } from "../../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { AuthService } from "../../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { formatCredential, type SessionCredential, secretHash } from "../../../browser/session-credential.ts";
import { sessionUser } from "../../../browser/session-user.ts";
import { GuessLimit } from "../../../limits/guess-limit.ts";
import type { BrowserSessions, BrowserUser } from "./authenticate.ts";

/** Time limit of the check of a session, ms. */
const findMs = 10_000;

/** Sessions of browsers as the auth service knows them: no answer is kept here, so that one that ends has ended at once. */
export function browserSessions(auth: AuthClient, cluster: string, clock = () => performance.now()): BrowserSessions {
  const guesses = new GuessLimit(clock);
  const digestOf = (credential: SessionCredential): string => secretHash(formatCredential(credential));
  return {
    opened: (credential) => guesses.opened(digestOf(credential)),
    find: async (credential, address, isUnused = false) => {
      const options = { ...inNameOf({ credential, isUnused }, address), timeoutMs: findMs };
      const guess = { digest: digestOf(credential), peer: address };
      const found = await guesses.ask(guess, async () => await auth.getBrowserSession({}, options));
      const identity = sessionUser(found, cluster);
      return { credential, user: identity.name, roles: identity.roles, expires: identity.validBefore, isUnused, identity };
    },
    clientOf: (user, address) => clientWith(auth, inNameOf(user, address).headers),
  };
}

/** Options of a call in the name of a session's user, from a browser at this address. */
function inNameOf(
  { credential, isUnused }: Pick<BrowserUser, "credential" | "isUnused">,
  address: string,
): { readonly headers: Record<string, string> } {
  const headers = { [browserSessionHeader]: formatCredential(credential), [clientAddressHeader]: address };
  return { headers: isUnused ? { ...headers, [unusedSessionHeader]: "1" } : headers };
}

type AnyCall = (request: unknown, options?: { readonly headers?: Record<string, string> }) => unknown;

/** The same client; every call carries these headers too. */
function clientWith(auth: AuthClient, headers: Record<string, string>): AuthClient {
  const calls = AuthService.methods.map(({ localName }) => {
    const call: AnyCall = (request, options = {}) => {
      const original = auth[localName as keyof AuthClient] as AnyCall;
      return original(request, { ...options, headers: { ...options.headers, ...headers } });
    };
    return [localName, call] as const;
  });
  return Object.fromEntries(calls) as AuthClient;
}
