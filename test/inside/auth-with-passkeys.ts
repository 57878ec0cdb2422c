import { type AuthWithBrowser, authWithBrowser, browserAddress, by, from, type OpenedSession } from "./auth-with-browser.ts";
import type { TestUser } from "./enrol-user.ts";
import { type AuthenticatorAsk, type SignedAssertion, type SoftwareAuthenticator, softwareAuthenticator } from "./software-authenticator.ts";

/** Where browsers with passkeys are. */
export const site = { host: "access.example.com", port: 3080 };
export const rpId = site.host;
export const origin = "https://access.example.com:3080";
/** The secret of the browser before a login. */
export const browser = "b".repeat(43);

export type SessionCall = ReturnType<typeof by>;

interface NewPasskey extends Partial<AuthenticatorAsk> {
  readonly name?: string;
  readonly user?: TestUser;
  readonly attestation?: (data: Buffer) => Buffer;
}

interface LoginFacts {
  /** The only user who may log in. */
  readonly user?: string;
  readonly address?: string;
}

/** An auth service with a proxy that calls it for browsers, in which users have passkeys. */
export interface AuthWithPasskeys extends AuthWithBrowser {
  /** Adds a passkey of the session's user; default alice. */
  add(mine: SessionCall, authenticator: SoftwareAuthenticator, options?: NewPasskey): Promise<void>;
  startLogin(address?: string): Promise<Uint8Array>;
  /** Logs in with a passkey. */
  logIn(authenticator: SoftwareAuthenticator, deviation?: Partial<AuthenticatorAsk>, facts?: LoginFacts): Promise<OpenedSession>;
  /** Sends an answer. `at`: the site, `of`: the browser. */
  send(assertion: SignedAssertion, facts?: LoginFacts & { readonly at?: typeof site; readonly of?: string }): Promise<OpenedSession>;
  /** Alice's session, and her passkey. */
  withPasskey(
    options?: Parameters<typeof softwareAuthenticator>[0],
  ): Promise<{ readonly mine: SessionCall; readonly authenticator: SoftwareAuthenticator }>;
}

/** The challenge in an answer that has more. */
export const challengeOf = (answer: { challenge?: { challenge: Uint8Array } | undefined }): Uint8Array =>
  answer.challenge?.challenge ?? new Uint8Array();

export async function authWithPasskeys(): Promise<AuthWithPasskeys> {
  const world = await authWithBrowser();
  const { proxy, alice } = world;
  const add: AuthWithPasskeys["add"] = async (mine, authenticator, { name = "phone", user = alice, ...deviation } = {}) => {
    const started = await proxy.startPasskey({ site, name, password: user.password, code: world.code(user) }, mine);
    const { userHandle } = started;
    const made = authenticator.make({ challenge: challengeOf(started), origin, rpId, userHandle, ...deviation });
    await proxy.addPasskey({ site, name, userHandle, ...made }, mine);
  };
  const startLogin: AuthWithPasskeys["startLogin"] = async (address = browserAddress) =>
    (await proxy.startPasskeyLogin({ site, browser }, from(address))).challenge;
  const send: AuthWithPasskeys["send"] = async (assertion, { user = "", address = browserAddress, at = site, of = browser } = {}) => {
    const ask = { user, userAgent: "Browser/1", passkey: { assertion, site: at, browser: of } };
    const { session, secret } = await proxy.createBrowserSession(ask, from(address));
    return { id: session?.id ?? "", secret, expires: session?.expires ?? "" };
  };
  return {
    ...world,
    add,
    startLogin,
    send,
    logIn: async (authenticator, deviation = {}, facts = {}) => {
      const challenge = deviation.challenge ?? (await startLogin(facts.address));
      return await send(authenticator.assert({ challenge, origin, rpId, ...deviation }), facts);
    },
    withPasskey: async (options = {}) => {
      const mine = by(await world.open());
      const authenticator = softwareAuthenticator(options);
      await add(mine, authenticator);
      return { mine, authenticator };
    },
  };
}
