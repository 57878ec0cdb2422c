import { signal } from "@preact/signals";
import { takeUse, unusedHeader } from "./page-use.ts";

/** A failed call: a sentence for the user, a code of docs/errors.md, and perhaps what to do. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** The bearer of this page: together with the cookie it makes a call, so that no other site can. Held in memory alone. */
export const bearer = signal<string | undefined>(undefined);
/** The session has ended: the page asks for a new login. */
export const isLoggedOut = signal(false);
/** Number of logins of this page: what an earlier one could not load is loaded again. */
export const logins = signal(0);

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** What a code has confirmed for what is opened. */
  readonly confirmation?: string | undefined;
  /** In place of the page's: such a call does not change what the page knows of its session. */
  readonly bearer?: string | undefined;
}

/** Looks for another session after a refusal. */
let renewal: (() => Promise<boolean>) | undefined;

/** `renew`: takes up another session of the browser, if there is one; the refused call is made once more then. */
export function onRefused(renew: () => Promise<boolean>): void {
  renewal = renew;
}

/** Header of what a code has confirmed (control/proxy/web-api/page-confirmation.ts): addresses are kept in logs and histories. */
const confirmationHeader = "platform-confirmation";
/** Maximum time for an answer, ms. */
const longestMs = 30_000;

/** An answer of the API of this version. Throws CallError. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  // A login is refused for what was typed, not for the session of before.
  const isOwn = !("bearer" in options) && path !== "/sessions" && path !== "/passkey-logins";
  const used = bearer.value;
  try {
    return await callOnce<T>(path, options);
  } catch (thrown) {
    if (!isOwn || used === undefined || !(thrown instanceof CallError)) throw thrown;
    const isRefused = thrown.code === "denied" || thrown.code === "unauthenticated";
    // Nothing was done: the call was refused. Meanwhile the page may have another session already.
    if (isRefused && (bearer.value !== used || (await renewal?.()) === true)) return await callOnce<T>(path, options);
    if (thrown.code === "unauthenticated" && bearer.value === used) isLoggedOut.value = true;
    throw thrown;
  }
}

async function callOnce<T>(path: string, options: CallOptions): Promise<T> {
  const { method = "GET", body, query = {}, signal: outer } = options;
  const wanted = Object.entries(query).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]]));
  const search = wanted.length === 0 ? "" : `?${new URLSearchParams(wanted)}`;
  const limit = AbortSignal.timeout(longestMs);
  const headers = new Headers({ Accept: "application/json" });
  const token = "bearer" in options ? options.bearer : bearer.value;
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  if (options.confirmation !== undefined) headers.set(confirmationHeader, options.confirmation);
  if (method === "GET" && !takeUse()) headers.set(unusedHeader, "1");
  try {
    const answer = await fetch(`/webapi/v1${path}${search}`, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: outer === undefined ? limit : AbortSignal.any([outer, limit]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw await readError(answer);
    return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
  } catch (thrown) {
    if (thrown instanceof CallError || outer?.aborted === true) throw thrown;
    if (limit.aborted) throw late(method);
    throw new CallError("unavailable", "could not reach the proxy", "check your connection; the page tries again when you reload it");
  }
}

/** What was to be changed may have been. */
function late(method: NonNullable<CallOptions["method"]>): CallError {
  const hint = method === "GET" ? "try again" : "look whether it was done before you try again";
  return new CallError("timeout", `the proxy did not answer within ${longestMs / 1000} s`, hint);
}

/** The error in an answer. One about the session shows the login. */
export async function errorOf(answer: Response): Promise<CallError> {
  const error = await readError(answer);
  if (error.code === "unauthenticated" && bearer.value !== undefined) isLoggedOut.value = true;
  return error;
}

async function readError(answer: Response): Promise<CallError> {
  const body = (await answer.json().catch(() => undefined)) as { error?: { code?: string; message?: string; hint?: string } } | undefined;
  const { code = "internal", message = `the proxy answered ${answer.status}`, hint } = body?.error ?? {};
  return new CallError(code, message, hint);
}
