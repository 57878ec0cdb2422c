import { createHash } from "node:crypto";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { GetAppSessionResponse } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";

/** What a browser has of its session with an application. */
export interface AppCredential {
  /** Not a secret: the id of the session in the audit log. */
  readonly id: string;
  readonly secret: string;
  readonly subject: string;
}

export interface AppSessionsOptions {
  readonly auth: Pick<AuthClient, "getAppSession" | "checkAppSessions">;
  readonly log: Log;
  readonly cluster: string;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
}

interface Known {
  readonly digest: string;
  readonly user: UserIdentity;
  readonly at: number;
}

/** How long an answer of the auth service is used, and how often sessions with something open are checked, ms. */
const freshMs = 2_000;
const maxKnown = 20_000;
/** Sessions of one check. */
const maxChecked = 10_000;

/**
 * Sessions of browsers with applications, as the auth service knows them. Whatever a session has open here ends within seconds of the session; a log-out
 * at this proxy counts at once.
 */
export class AppSessions {
  readonly #options: AppSessionsOptions;
  readonly #known = new Map<string, Known>();
  /** Calls on their way: a page makes many requests at once. */
  readonly #asking = new Map<string, Promise<UserIdentity>>();
  /** By session: what to do when it ends. */
  readonly #open = new Map<string, Set<() => void>>();
  #checking: Promise<void> | undefined;
  #again = false;

  constructor(options: AppSessionsOptions) {
    this.#options = options;
    const timer = setInterval(() => void (this.#open.size > 0 && this.#check()), freshMs).unref();
    options.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** The user of a session. Throws `unauthenticated` for one that is unknown or has ended, `denied` for a locked user, and what the auth service throws. */
  async userOf(credential: AppCredential, app: string): Promise<UserIdentity> {
    const { id } = credential;
    const digest = digestOf(credential, app);
    const known = this.#known.get(id);
    if (known?.digest === digest && this.#options.clock() - known.at < freshMs) return known.user;
    const asked = this.#asking.get(digest) ?? this.#ask(credential, app).finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, asked);
    const user = await asked;
    // Only an answer pushes out an earlier one: another secret for the same id has none.
    this.#remember(id, { digest, user, at: this.#options.clock() });
    return user;
  }

  /** Calls `end` once the session has ended, unless the returned function was called before. */
  hold(id: string, end: () => void): () => void {
    const held = this.#open.get(id) ?? new Set();
    this.#open.set(id, held.add(end));
    return () => {
      held.delete(end);
      if (held.size === 0 && this.#open.get(id) === held) this.#open.delete(id);
    };
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    this.#known.clear();
    if (this.#checking !== undefined) this.#again = true;
    else void this.#check();
  }

  /** The session has ended: nothing of it stays. */
  ended(id: string): void {
    this.#known.delete(id);
    const held = this.#open.get(id) ?? [];
    this.#open.delete(id);
    for (const end of held) end();
  }

  async #ask(credential: AppCredential, app: string): Promise<UserIdentity> {
    return appUser(await this.#options.auth.getAppSession({ credential, app }), this.#options.cluster);
  }

  #remember(id: string, known: Known): void {
    this.#known.delete(id);
    this.#known.set(id, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }

  #check(): Promise<void> {
    this.#checking ??= this.#endThose().finally(() => {
      this.#checking = undefined;
      if (!this.#again) return;
      this.#again = false;
      void this.#check();
    });
    return this.#checking;
  }

  /** While the auth service is away, what is open stays; nothing new is admitted then. Never rejects. */
  async #endThose(): Promise<void> {
    const { auth, log, signal } = this.#options;
    const all = [...this.#open.keys()];
    try {
      for (let from = 0; from < all.length; from += maxChecked) {
        const { endedIds } = await auth.checkAppSessions({ ids: all.slice(from, from + maxChecked) }, { signal });
        for (const id of endedIds) this.ended(id);
      }
    } catch (thrown) {
      if (!signal.aborted) log.debug("could not check the sessions of applications", { error: errorText(thrown) });
    }
  }
}

/** The identity in the auth service's answer: it is for the proxy's own decision, and not more than the certificate that the agent sees. */
export function appUser({ user: name, userId, roles, traits, sourceIp, expires }: GetAppSessionResponse, cluster: string): UserIdentity {
  return {
    kind: "user",
    name,
    ...(userId !== "" && { userId }),
    roles,
    traits: Object.fromEntries(Object.entries(traits).map(([trait, { values }]) => [trait, values])),
    principals: {},
    cluster,
    ...(sourceIp !== "" && { sourceIp }),
    validBefore: new Date(expires),
  };
}

function digestOf({ id, secret, subject }: AppCredential, app: string): string {
  return createHash("sha256")
    .update(JSON.stringify([id, secret, subject, app]))
    .digest("base64");
}
