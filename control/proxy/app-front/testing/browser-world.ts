import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { type AppWorld, appWorld, proxyHost } from "./app-world.ts";
import { beginAt, callAt, pairsOf, type SiteAnswer, type SiteCall } from "./site-calls.ts";

export const wiki = `wiki.${proxyHost}`;
export const shop = `shop.${proxyHost}`;

export interface Taking {
  readonly body: object;
  readonly cookie: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly at?: string;
}

/** An attempt to sign in: its state, and the cookie of the browser that began it. */
interface Attempt {
  readonly state: string;
  readonly cookie: string;
}

/** The same, with an HTTP application behind the fake agent and two browsers: ann's roles allow the application, bob's do not. */
export class BrowserWorld implements AsyncDisposable {
  readonly world: AppWorld;
  readonly ann: WebBrowser;
  readonly bob: WebBrowser;
  requests: IncomingMessage[] = [];
  serve: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  upgrade: (request: IncomingMessage, socket: Duplex) => void = () => {};

  private constructor(world: AppWorld, ann: WebBrowser, bob: WebBrowser) {
    this.world = world;
    this.ann = ann;
    this.bob = bob;
    const server = createServer();
    server.on("request", (request, response) => {
      this.requests.push(request);
      this.serve(request, response);
    });
    server.on("upgrade", (request, socket) => this.upgrade(request, socket));
    world.serve = (client) => void server.emit("connection", client);
  }

  static async open(options: Parameters<typeof appWorld>[0] = {}): Promise<BrowserWorld> {
    const world = await appWorld(options);
    return new BrowserWorld(world, await openBrowser(world.cluster, "ann", ["dev"]), await openBrowser(world.cluster, "bob", ["none"]));
  }

  /** Before each test: the application answers "hello". */
  reset(): void {
    this.requests = [];
    this.world.reached.splice(0);
    this.serve = (_request, response) => void response.end("hello");
    this.upgrade = (_request, socket) => void socket.destroy();
  }

  begin(path: string, sent: SiteCall = {}) {
    return beginAt(this.world, path, { at: wiki, ...sent });
  }

  call(path: string, sent: SiteCall = {}): Promise<SiteAnswer> {
    return callAt(this.world, path, { at: wiki, ...sent });
  }

  async attempt(at = wiki): Promise<Attempt> {
    const answer = await this.call("/x-platform-auth/start?path=%2F", { at });
    const [, state] = /#platform-state=([\w.-]{80})$/.exec(answer.headers.location ?? "") ?? [];
    if (answer.status !== 302 || state === undefined) throw new Error(`no attempt began: ${answer.status} ${answer.headers.location}`);
    return { state, cookie: pairsOf(answer).join("; ") };
  }

  async session(browser = this.ann, host = wiki): Promise<{ readonly session: string; readonly subject: string }> {
    const { status, body } = await browser("/app-sessions", { method: "POST", body: { host } });
    if (status !== 200) throw new Error(`no session: ${status} ${JSON.stringify(body)}`);
    return { session: String(body.session), subject: String(body.subject) };
  }

  take({ body, cookie, headers = {}, at = wiki }: Taking): Promise<SiteAnswer> {
    const text = JSON.stringify({ path: "/", next: [], ...body });
    return this.call("/x-platform-auth", { at, method: "POST", headers: { "content-type": "application/json", cookie, ...headers }, body: text });
  }

  /** The cookies of a browser that is signed in to the wiki. */
  async signIn(): Promise<string> {
    const { state, cookie } = await this.attempt();
    const answer = await this.take({ body: { state, ...(await this.session()) }, cookie });
    if (answer.status !== 200) throw new Error(`not signed in: ${answer.status} ${answer.text}`);
    return this.cookiesOf(answer);
  }

  /** The cookies that an answer sets. */
  cookiesOf(answer: SiteAnswer): string {
    return pairsOf(answer)
      .filter((pair) => !pair.endsWith("="))
      .join("; ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
  }
}
