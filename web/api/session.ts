import { signal } from "@preact/signals";
import type { Person } from "../../core/api/web/person.ts";
import { bearer, CallError, call, isLoggedOut, logins, onRefused } from "./request.ts";

/** The user of this page; undefined before the login. */
export const person = signal<Person | undefined>(undefined);
/** Whether it is known if there is a session. */
export const isReady = signal(false);

export interface BrowserSession {
  readonly token: string;
}

export interface Secrets {
  readonly user: string;
  readonly password: string;
  readonly code: string;
}

/** Takes up the session of the browser's cookie, if there is one. Throws CallError only when the proxy cannot say. */
export async function resume(): Promise<void> {
  try {
    const { token } = await call<BrowserSession>("/session");
    await begin(token);
  } catch (thrown) {
    if (!(thrown instanceof CallError) || thrown.code !== "unauthenticated") throw thrown;
  } finally {
    isReady.value = true;
  }
}

/** Logs in. Throws CallError. */
export async function logIn(secrets: Secrets): Promise<void> {
  const { token } = await call<BrowserSession>("/sessions", { method: "POST", body: secrets });
  await begin(token);
}

/** Goes on with a session that has just been opened. */
export async function begin(token: string): Promise<void> {
  bearer.value = token;
  person.value = await call<Person>("/me");
  isLoggedOut.value = false;
  logins.value += 1;
}

/**
 * Takes up the session that the browser's cookie stands for, if it is another one of the same user: a login in another tab has ended the one of this page.
 * Whether there was one.
 */
export async function takeUp(): Promise<boolean> {
  try {
    const { token } = await call<BrowserSession>("/session", { bearer: undefined });
    if (token === bearer.value) return false;
    const other = await call<Person>("/me", { bearer: token });
    if (other.user !== person.value?.user) return false;
    await begin(token);
    return true;
  } catch (thrown) {
    if (thrown instanceof CallError) return false;
    throw thrown;
  }
}
onRefused(takeUp);

/** Ends this session, or all sessions of the user in browsers. */
export async function logOut({ everywhere = false } = {}): Promise<void> {
  await call(everywhere ? "/sessions" : "/session", { method: "DELETE" }).catch((thrown: unknown) => {
    if (!(thrown instanceof CallError) || thrown.code !== "unauthenticated") throw thrown;
  });
  forget();
}

/** Forgets the session in this page. */
export function forget(): void {
  bearer.value = undefined;
  person.value = undefined;
  isLoggedOut.value = false;
}

/** Whether the user's rules allow it; what they do not allow is not shown. */
export function can(resource: string, verb: Person["can"][string][number]): boolean {
  return person.value?.can[resource]?.includes(verb) ?? false;
}
