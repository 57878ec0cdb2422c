import { browserSessionHeader, clientAddressHeader } from "../../core/api/auth-call.ts";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { codeAt } from "../world/one-time-code.ts";
import type { TestUser } from "./enrol-user.ts";
import { addUser, joinHost, openTestAuth, type TestAuth, type TestAuthOptions } from "./open-auth.ts";

export interface OpenedSession {
  readonly id: string;
  readonly secret: string;
  readonly expires: string;
}

/** An auth service with a proxy that calls it for browsers, and the user alice. */
export interface AuthWithBrowser extends AsyncDisposable {
  readonly t: TestAuth;
  readonly proxy: AuthClient;
  readonly alice: TestUser;
  /** A code that has not been used yet: the clock moves on for it when it must. */
  code(user?: Pick<TestUser, "otpauthUri">): string;
  /** Logs in a browser; by default alice's. */
  open(user?: Pick<TestUser, "name" | "password" | "otpauthUri">): Promise<OpenedSession>;
}

/** Where browsers are. */
export const browserAddress = "198.51.100.4:5000";

/** Options of a call for a browser at this address that has no session. */
export const from = (address: string) => ({ headers: { [clientAddressHeader]: address } });

/** Options of a call in the name of the session's user. */
export const by = ({ id, secret }: Pick<OpenedSession, "id" | "secret">, address = browserAddress) => ({
  headers: { [browserSessionHeader]: `${id}.${secret}`, [clientAddressHeader]: address },
});

export async function authWithBrowser(options: TestAuthOptions = {}): Promise<AuthWithBrowser> {
  const t = await openTestAuth(options);
  const proxy = (await joinHost(t, "proxy1", { role: "proxy" })).client;
  const alice = await addUser(t, "alice", { roles: ["access"] });
  let used = 0;
  const code: AuthWithBrowser["code"] = (user = alice) => {
    if (t.now().getTime() - used < 60_000) t.forward(60_000);
    used = t.now().getTime();
    return codeAt(user.otpauthUri, t.now());
  };
  const open: AuthWithBrowser["open"] = async (user = alice) => {
    const ask = { user: user.name, password: user.password, code: code(user), userAgent: "Browser/1" };
    const { session, secret } = await proxy.createBrowserSession(ask, from(browserAddress));
    return { id: session?.id ?? "", secret, expires: session?.expires ?? "" };
  };
  return { t, proxy, alice, code, open, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}
