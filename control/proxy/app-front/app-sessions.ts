import { hash } from "node:crypto";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { marked } from "../../browser/marked.ts";
import { sessionUser } from "../../browser/session-user.ts";
import { GuessLimit } from "../../limits/guess-limit.ts";
import type { AccessCache } from "../routing/access-cache.ts";
import { HeldSessions } from "../web-api/held-sessions.ts";

/** The credential that a browser holds for its session with an application. */
export interface AppCredential {
  /** Not a secret: the id of the session in the audit log. */
  readonly id: string;
  readonly secret: string;
  readonly subject: string;
}

export interface AppSessionsOptions {
  readonly auth: Pick<AuthClient, "getAppSession" | "checkAppSessions">;
  /** Another revision: roles may have changed, and what they state about a user. */
  readonly access: Pick<AccessCache, "revision">;
  readonly log: Log;
  readonly cluster: string;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

/** The user of a session, by the address of the browser: what a code has confirmed is bound to one. */
interface AppUser {
  readonly plain: UserIdentity;
  readonly confirmed: UserIdentity;
  readonly confirmedIp: string;
}

interface Known {
  readonly digest: string;
  readonly user: AppUser;
  readonly at: number;
  /** Of the proxy's facts when the auth service was asked. */
  readonly revision: string;
}

/** A browser's credential at the host name of an application. */
export interface AppCall {
  readonly credential: AppCredential;
  readonly app: string;
  /** `ip:port` of the client. */
  readonly peer: string;
  /** The attempt to sign in that this is one of. */
  readonly attempt?: string;
}

/** How long an answer of the auth service is used at most, ms: until roles or locks change. */
const freshMs = 2_000;
const maxKnown = 20_000;

/** Sessions of browsers with applications, as the auth service knows them. */
export class AppSessions {
  readonly #options: AppSessionsOptions;
  readonly #known = new Map<string, Known>();
  /** Of calls: the same one is often asked about again. */
  readonly #digests = new WeakMap<AppCall, string>();
  /** Calls on their way: a page makes many requests at once. */
  readonly #asking = new Map<string, Promise<AppUser>>();
  readonly #guesses: GuessLimit;
  readonly #held: HeldSessions;

  constructor(options: AppSessionsOptions) {
    this.#options = options;
    const { auth, clock } = options;
    this.#guesses = new GuessLimit(clock);
    const findEnded = async (ids: readonly string[], signal: AbortSignal): Promise<readonly string[]> =>
      (await auth.checkAppSessions({ ids: [...ids] }, { signal })).endedIds;
    this.#held = new HeldSessions({ ...options, findEnded });
  }

  /**
   * The user of a session, marked with the code that has confirmed it, from the address of that alone. Throws `unauthenticated` for one that is unknown or has ended, `denied` for a locked user, `limit` as `prove`, and what the auth
   * service throws.
   */
  async userOf(call: AppCall): Promise<UserIdentity> {
    const { id } = call.credential;
    const { access, clock } = this.#options;
    const { revision } = access;
    const digest = this.#digests.get(call) ?? digestOf(call);
    this.#digests.set(call, digest);
    const known = this.#known.get(id);
    if (known?.digest === digest && known.revision === revision && clock() - known.at < freshMs) return userAt(known.user, call);
    const question = `${revision} ${digest}`;
    const asked = this.#asking.get(question) ?? this.#ask(call).finally(() => this.#asking.delete(question));
    this.#asking.set(question, asked);
    const user = await asked;
    // Only an answer pushes out an earlier one: another secret for the same id has none.
    this.#remember(id, { digest, user, at: clock(), revision });
    return userAt(user, call);
  }

  /**
   * The answer to a question about a credential that may be made up: it throws `unauthenticated` then. Throws as it does, and `limit` for a client that has sent
   * too many of these.
   */
  async prove<T>(call: AppCall, question: () => Promise<T>): Promise<T> {
    const { attempt, ...ofSession } = call;
    const digest = digestOf(call);
    const session = attempt === undefined ? digest : digestOf(ofSession);
    return await this.#guesses.ask({ digest, session, peer: call.peer }, question);
  }

  /** The auth service has just opened this session. */
  opened(session: Pick<AppCall, "credential" | "app">): void {
    this.#guesses.opened(digestOf(session));
  }

  /** Calls `end` once the session has ended, unless the returned function was called before. */
  hold(id: string, end: () => void): () => void {
    return this.#held.hold(id, end);
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    this.#known.clear();
    this.#held.checkSoon();
  }

  /** The session has ended: nothing of it stays. */
  ended(id: string): void {
    this.#known.delete(id);
    this.#held.ended(id);
  }

  async #ask(call: AppCall): Promise<AppUser> {
    const { auth, cluster } = this.#options;
    const { credential, app } = call;
    return await this.prove(call, async () => {
      const answer = await auth.getAppSession({ credential, app });
      const plain = sessionUser(answer, cluster);
      const { mfaDevice: device, mfaSourceIp: sourceIp } = answer;
      return { plain, confirmed: marked(plain, { device, kind: "app", name: app, sourceIp }), confirmedIp: sourceIp };
    });
  }

  #remember(id: string, known: Known): void {
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}

function userAt({ plain, confirmed, confirmedIp }: AppUser, { peer }: Pick<AppCall, "peer">): UserIdentity {
  return ipOf(peer) === confirmedIp ? confirmed : plain;
}

function digestOf({ credential: { id, secret, subject }, app, attempt = "" }: Omit<AppCall, "peer">): string {
  return hash("sha256", JSON.stringify([id, secret, subject, app, attempt]), "base64");
}
