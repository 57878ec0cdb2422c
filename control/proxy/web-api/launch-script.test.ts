import { createContext, runInContext } from "node:vm";
import fastify from "fastify";
import { beforeAll, describe, expect, test } from "vitest";
import { handOffPage } from "../app-front/hand-off-page.ts";
import { launchPageRoute } from "./launch-page.ts";

let launchScript: string;
beforeAll(async () => {
  const app = fastify();
  launchPageRoute(app);
  launchScript = scriptOf((await app.inject({ url: "/web/launch/x" })).body);
  await app.close();
});

function query(facts: Record<string, string>): string {
  return new URLSearchParams(facts).toString();
}

function scriptOf(html: string): string {
  return /<script[^>]*>(.*?)<\/script>/s.exec(html)?.[1] ?? "";
}

interface Element {
  textContent: string;
  hidden: boolean;
  href: string;
  value: string;
  disabled: boolean;
  focus(): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
  removeEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
}

interface Sent {
  readonly path: string;
  readonly method: string;
  readonly token: string | undefined;
  readonly body: unknown;
}

interface Visit {
  readonly elements: Map<string, Element>;
  readonly calls: Sent[];
  /** Where the script has sent the browser. */
  readonly gone: Promise<string>;
  /** What is in the address bar. */
  readonly shown: () => string;
  submit(): void;
}

type Answers = Readonly<Record<string, readonly [status: number, body: unknown]>>;

/** A call that gets no answer. */
const lost = [0, "lost"] as const;

/** Runs a page's script at an address; `answers` by method and path. `kept`: what the tab has stored. */
function visit(script: string, address: string, answers: Answers, kept = new Map<string, string>()): Visit {
  const url = new URL(address);
  let shown = address;
  const { promise: gone, resolve } = Promise.withResolvers<string>();
  const submits: ((event: { preventDefault(): void }) => void)[] = [];
  const elements = new Map<string, Element>();
  const element = (id: string): Element => {
    const add = (_type: string, listener: (event: { preventDefault(): void }) => void): void => void submits.push(listener);
    const remove = (_type: string, listener: (event: { preventDefault(): void }) => void): void => void submits.splice(submits.indexOf(listener), 1);
    const listening = { addEventListener: add, removeEventListener: remove };
    const known = elements.get(id) ?? { textContent: "", hidden: true, href: "", value: "", disabled: false, focus: () => {}, ...listening };
    elements.set(id, known);
    return known;
  };
  const calls: Sent[] = [];
  const fetch = async (
    path: string,
    { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    calls.push({ path, method, token: headers.Authorization, body: body === undefined ? undefined : JSON.parse(body) });
    if (answers[`${method} ${path}`] === lost) throw new TypeError("Failed to fetch");
    const [status, answer] = answers[`${method} ${path}`] ?? [404, { error: { message: "not found", code: "not_found" } }];
    return { ok: status < 300, json: async () => await Promise.resolve(answer) };
  };
  class FormData {
    *[Symbol.iterator]() {
      yield* [
        ["user", "ann"],
        ["password", "p"],
        ["code", "123 456"],
      ];
    }
  }
  const { pathname, search, hash } = url;
  const location = { pathname, search, hash, replace: resolve };
  const replaceState = (_state: unknown, _title: string, path: string): void => {
    shown = new URL(path, address).href;
  };
  const history = { replaceState };
  const sessionStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  const document = { getElementById: element, querySelector: element };
  const context = createContext({
    location,
    history,
    sessionStorage,
    document,
    window: { fetch },
    URLSearchParams,
    FormData,
    decodeURIComponent,
    encodeURIComponent,
  });
  runInContext(`(async () => {${script}})()`, context);
  return { elements, calls, gone, shown: () => shown, submit: () => submits[0]?.({ preventDefault: () => {} }) };
}

const launch = "https://proxy.test/web/launch/wiki.test";
const open = { "GET /webapi/v1/session": [200, { token: "t1" }] } as const;
const site = { "GET /webapi/v1/app-sites/wiki.test": [200, { start: "https://wiki.test/x-platform-auth/start", required: [] }] } as const;

describe("the page that signs a browser in", () => {
  test("begins at the application's site, with path and fragment", async () => {
    const { gone, calls } = visit(launchScript, `${launch}?path=%2Fa%3Fx%3D1#y`, { ...open, ...site });
    expect(await gone).toBe(`https://wiki.test/x-platform-auth/start?${query({ path: "/a?x=1#y", next: "" })}`);
    expect(calls.at(-1)).toMatchObject({ token: "Bearer t1" });
  });

  test("returns there with a session, and the state is in no address any more", async () => {
    const opened = { session: "i.s", subject: "u", auth: "https://wiki.test/x-platform-auth" };
    const answers = { ...open, "POST /webapi/v1/app-sessions": [200, opened] } as const;
    const { gone, calls, shown } = visit(launchScript, `${launch}?path=%2Fa&next=#platform-state=id.secret`, answers);
    expect(await gone).toBe(`https://wiki.test/x-platform-auth#${query({ state: "id.secret", session: "i.s", subject: "u", path: "/a", next: "" })}`);
    expect(shown()).toBe(`${launch}?path=%2Fa&next=`);
    expect(calls.at(-1)).toMatchObject({ method: "POST", body: { host: "wiki.test" }, token: "Bearer t1" });
  });

  test("visits the applications that come first, and ends with the one that was asked for", async () => {
    const first = { "GET /webapi/v1/app-sites/wiki.test": [200, { start: "https://wiki.test/s", required: ["one.test", "two.test"] }] } as const;
    const { gone } = visit(launchScript, `${launch}?path=%2Fa`, { ...open, ...first });
    expect(await gone).toBe(`/web/launch/one.test?${query({ path: "/a", next: "two.test,wiki.test" })}`);
  });

  test("leads on from one that the user may not use", async () => {
    const denied = { error: { message: "access denied: no", code: "denied", hint: "ask an admin" } };
    const answers = { ...open, "POST /webapi/v1/app-sessions": [403, denied] } as const;
    const { elements } = visit(launchScript, "https://proxy.test/web/launch/one.test?path=%2Fa&next=two.test,wiki.test#platform-state=i.s", answers);
    await expect.poll(() => elements.get("go-on")?.hidden).toBe(false);
    expect(elements.get("status")?.textContent).toBe("Access denied: no. Ask an admin.");
    expect(elements.get("go-on")).toMatchObject({
      href: `/web/launch/two.test?${query({ path: "/a", next: "wiki.test" })}`,
      textContent: "Open wiki.test without it",
    });
  });

  test("asks for a code where one is needed, keeps the form after a wrong one, and goes the way again with what was confirmed, once", async () => {
    const needed = { error: { message: "application wiki needs a one-time code for each session", code: "mfa_required", hint: "use tsh" } };
    const wrong = { error: { message: "wrong one-time code, or one that was used before", code: "denied" } };
    const back = `${launch}?path=%2Fa&next=#platform-state=i.s`;
    const confirmations = { "POST /webapi/v1/confirmations": [403, wrong] as readonly [number, unknown] };
    const answers = { ...open, ...site, "POST /webapi/v1/app-sessions": [403, needed], ...confirmations } as Answers;
    const kept = new Map<string, string>();
    const live: Record<string, readonly [number, unknown]> = { ...answers };
    const asked = visit(launchScript, back, live, kept);
    await expect.poll(() => asked.elements.get("login")?.hidden).toBe(false);
    expect(asked.elements.get("who")).toMatchObject({ hidden: true, disabled: true });
    expect(asked.elements.get("status")?.textContent).toBe("Enter the code of your authenticator to open wiki.test.");
    asked.submit();
    await expect.poll(() => asked.elements.get("status")?.textContent).toBe("Wrong one-time code, or one that was used before.");
    expect([asked.elements.get("login")?.hidden, kept.size]).toEqual([false, 0]);
    live["POST /webapi/v1/confirmations"] = [200, { confirmation: "c1" }];
    asked.submit();
    expect(await asked.gone).toBe(`https://wiki.test/x-platform-auth/start?${query({ path: "/a", next: "" })}`);
    expect(asked.calls.filter(({ path }) => path.endsWith("/confirmations")).at(-1)?.body).toEqual({
      for: { type: "app", host: "wiki.test" },
      code: "123456",
    });
    expect(asked.calls.map(({ path }) => path).join(" ")).not.toContain("123");
    const opened = { session: "i.s", subject: "u", auth: "https://wiki.test/x-platform-auth" };
    const again = visit(launchScript, back, { ...open, "POST /webapi/v1/app-sessions": [200, opened] }, kept);
    await again.gone;
    expect(again.calls.at(-1)?.body).toEqual({ host: "wiki.test", confirmation: "c1" });
    expect(kept.size).toBe(0);
  });

  test("keeps what a code has confirmed until the proxy has answered", async () => {
    const kept = new Map([["confirmation of wiki.test", "c1"]]);
    const back = `${launch}?path=%2Fa&next=#platform-state=i.s`;
    const cut = visit(launchScript, back, { ...open, "POST /webapi/v1/app-sessions": lost }, kept);
    await expect.poll(() => cut.elements.get("status")?.textContent).toBe("Could not reach the proxy. Reload the page to try again.");
    expect([...kept.values()]).toEqual(["c1"]);
    const refused = { error: { message: "access denied: no", code: "denied" } };
    const answered = visit(launchScript, back, { ...open, "POST /webapi/v1/app-sessions": [403, refused] }, kept);
    await expect.poll(() => answered.elements.get("status")?.textContent).toBe("Access denied: no.");
    expect(answered.calls.at(-1)?.body).toEqual({ host: "wiki.test", confirmation: "c1" });
    expect(kept.size).toBe(0);
  });

  test("logs the user in first", async () => {
    const closed = { "GET /webapi/v1/session": [401, { error: { message: "not logged in", code: "unauthenticated" } }] } as const;
    const answers = { ...closed, ...site, "POST /webapi/v1/sessions": [200, { token: "t2" }] } as const;
    const { elements, gone, calls, submit } = visit(launchScript, `${launch}?path=%2F`, answers);
    await expect.poll(() => elements.get("login")?.hidden).toBe(false);
    submit();
    expect(await gone).toMatch(/^https:\/\/wiki\.test\/x-platform-auth\/start\?/);
    expect(calls.slice(1)).toMatchObject([{ method: "POST", body: { user: "ann", password: "p", code: "123456" } }, { token: "Bearer t2" }]);
  });
});

describe("the page that takes a session over", () => {
  const address = `https://wiki.test/x-platform-auth#${query({ state: "i.s", session: "a.b", subject: "u", path: "/a#y", next: "one.test,two.test" })}`;

  test("posts what its fragment holds, removes it from the address, and goes on", async () => {
    const { gone, calls, shown } = visit(scriptOf(handOffPage), address, { "POST /x-platform-auth": [200, { location: "/a#y" }] });
    expect(await gone).toBe("/a#y");
    expect(shown()).toBe("https://wiki.test/x-platform-auth");
    expect(calls).toMatchObject([{ body: { state: "i.s", session: "a.b", subject: "u", path: "/a#y", next: ["one.test", "two.test"] } }]);
  });

  test("shows a refusal as text", async () => {
    const refused = { error: { message: "access denied: <b>", code: "denied" } };
    const { elements } = visit(scriptOf(handOffPage), address, { "POST /x-platform-auth": [403, refused] });
    await expect.poll(() => elements.get("p")?.textContent).toBe("access denied: <b>. ");
  });
});
