import { type Answer, ask, type Sent, type Visitor } from "./app-client.ts";
import type { User } from "./cluster-user.ts";

/** A browser without scripts of its own: it does what the pages of the proxy would do. */
export interface AppBrowser {
  /** Of the session at the proxy's site. */
  readonly cookie: string;
  readonly token: string;
  /** A call of the proxy's API in the browser's session. */
  call(path: string, sent?: Sent): Promise<Answer>;
  /** Signs the browser in to the application at a host name. Throws with the answer that refused it. */
  open(host: string): Promise<Visitor>;
}

/** Pairs of the cookies that an answer sets, without those that it removes. */
export function cookiesOf({ headers }: Pick<Answer, "headers">): string {
  const pairs = (headers["set-cookie"] ?? []).map((cookie) => cookie.split(";")[0] ?? "");
  return pairs.filter((pair) => !pair.endsWith("=")).join("; ");
}

/** Logs a user in at the proxy's own site. */
export async function openAppBrowser(site: Visitor, user: Pick<User, "name" | "password" | "code">): Promise<AppBrowser> {
  const body = JSON.stringify({ user: user.name, password: user.password, code: await user.code() });
  const json = { "content-type": "application/json" };
  const logged = await ask(site, { method: "POST", path: "/webapi/v1/sessions", headers: json, body });
  if (logged.status !== 200) throw new Error(`could not log in: ${logged.text}`);
  const { token } = JSON.parse(logged.text) as { token: string };
  const own = { ...site, cookie: cookiesOf(logged) };
  const call: AppBrowser["call"] = (path, sent = {}) =>
    ask(own, {
      ...sent,
      path: `/webapi/v1${path}`,
      headers: { authorization: `Bearer ${token}`, ...(sent.body !== undefined && json), ...sent.headers },
    });
  return {
    ...{ cookie: own.cookie, token },
    call,
    open: async (host) => {
      const stranger = { ...site, host };
      const begun = await ask(stranger, { path: "/x-platform-auth/start?path=%2F" });
      const state = /#platform-state=(.*)$/.exec(begun.headers.location ?? "")?.[1];
      const opened = await call("/app-sessions", { method: "POST", body: JSON.stringify({ host }) });
      if (opened.status !== 200) throw new Error(opened.text);
      const { session, subject } = JSON.parse(opened.text) as { session: string; subject: string };
      const handed = JSON.stringify({ state, session, subject, path: "/", next: [] });
      const taken = await ask({ ...stranger, cookie: cookiesOf(begun) }, { method: "POST", path: "/x-platform-auth", headers: json, body: handed });
      if (taken.status !== 200) throw new Error(taken.text);
      return { ...stranger, cookie: cookiesOf(taken) };
    },
  };
}
