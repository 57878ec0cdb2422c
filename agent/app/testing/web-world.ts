import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { silentLog } from "../../../core/log/log.ts";
import { openRecordings, type RecordingCall } from "../../../core/recording-spool/recordings.ts";
import type { App } from "../../../core/resources/app.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { enterService } from "../../../test/inside/enter-service.ts";
import { type InsideService, serviceDeps } from "../../../test/inside/service-deps.ts";
import type { Access } from "../../access/access-source.ts";
import type { AppDeps, TokenFacts } from "../app-deps.ts";
import { AppSessions } from "../audit/app-sessions.ts";
import { dumperApp, type OfferedApp, offeredApp } from "../offered-app.ts";
import { serveApp } from "../serve-app.ts";
import { appTargets } from "../target-policy.ts";

export const sid = "0198a2b0-0000-7000-8000-000000000001";
const claims = Buffer.from(JSON.stringify({ sub: "alice", roles: ["access"] })).toString("base64url");
const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: "k" })).toString("base64url");

export interface WebOptions {
  readonly spec?: Partial<Omit<App["spec"], "required_app_names">>;
  /** Default: one for `spec`. */
  readonly app?: OfferedApp;
  readonly traits?: Readonly<Record<string, readonly string[]>>;
  readonly access?: Partial<Access>;
  readonly deps?: Partial<AppDeps>;
  readonly follow?: InsideService["follow"];
  readonly record?: InsideService["record"];
  readonly sid?: string;
}

/** An application service in a test, and connections of a user to it, over real TLS. */
export class WebWorld implements AsyncDisposable {
  readonly own: InsideAuthorities;
  readonly #credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  readonly #folder: string;
  readonly #over = new AbortController();
  readonly #open: TLSSocket[] = [];

  static async open(): Promise<WebWorld> {
    const own = await insideAuthorities();
    return new WebWorld(own, await own.host("apps-1"), await mkdtemp(join(tmpdir(), "web-world-")));
  }

  private constructor(own: InsideAuthorities, credentials: Awaited<ReturnType<InsideAuthorities["host"]>>, folder: string) {
    this.own = own;
    this.#credentials = credentials;
    this.#folder = folder;
  }

  /** Dependencies that several connections may share. */
  async service(options: WebOptions = {}) {
    const role = roleSchema.parse({
      kind: "role",
      version: "v7",
      metadata: { name: "access" },
      spec: { allow: { app_labels: { "*": "*" } } },
    });
    const { follow, record } = options;
    const inside = serviceDeps({
      authorities: this.own,
      credentials: this.#credentials,
      node: { name: "apps-1", labels: {} },
      access: { roles: [role], ...options.access },
      follow,
      record,
    });
    const calls: RecordingCall[] = [];
    const send = async (call: RecordingCall): Promise<number> => {
      calls.push(call);
      return call.offset + call.data.length;
    };
    const folder = await mkdtemp(join(this.#folder, "r-"));
    const recordings = await openRecordings({ folder, log: silentLog, send });
    const tokens: TokenFacts[] = [];
    const signToken: AppDeps["signToken"] = async (facts) => {
      tokens.push(facts);
      return { token: `${header}.${claims}.c2lnbmF0dXJl`, expires: new Date(Date.now() + 300_000) };
    };
    const app = options.app ?? offeredApp("web", { env: "test" }, { uri: "http://127.0.0.1:1", ...options.spec });
    const audited = { ...inside.deps, recordings };
    const sessions = new AppSessions(audited, this.#over.signal, { times: { lingerMs: 20 } });
    const deps: AppDeps = {
      ...audited,
      findApp: (name) => (name === app.name ? app : undefined),
      targets: appTargets({ unix: [] }),
      signToken,
      sessions,
      ...options.deps,
    };
    return { deps, app, events: inside.events, tokens, recordings, calls, folder };
  }

  /** A user's connection to the application, after the reply; `error` when it is refused. */
  async enter(options: WebOptions = {}, service?: Awaited<ReturnType<WebWorld["service"]>>) {
    const used = service ?? (await this.service(options));
    const asked: StreamRequest<"app"> = {
      kind: "app",
      target: used.app.name,
      parameters: {},
      clientAddress: "192.0.2.7:40000",
      sessionId: options.sid ?? sid,
      accessRevision: "1",
    };
    const user = await this.own.user("alice", { traits: options.traits ?? {} } as never);
    const { hostCaPem } = this.own;
    const serve = async (stream: Duplex): Promise<void> =>
      await serveApp(stream, asked, used.deps, { signal: this.#over.signal, established: () => {} });
    const entered = await enterService({ request: asked, user, hostCaPem, serve });
    this.#open.push(entered.tls);
    return { ...used, ...entered };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    for (const tls of this.#open) tls.destroy();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export function webDumper(): OfferedApp {
  return dumperApp();
}

/** One request over an open connection, with its whole answer. */
export async function ask(tls: Socket, options: RequestOptions & { readonly body?: string } = {}) {
  const sent = request({ createConnection: () => tls, host: "web.test", ...options });
  sent.on("error", () => {});
  sent.end(options.body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { response, status: response.statusCode, headers: response.headers, body: await textOf(response) };
}

export async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Bytes as they are, and all that comes back until the end of the connection. */
export async function askRaw(tls: Socket, bytes: string): Promise<string> {
  tls.write(bytes, "latin1");
  return await textOf(tls);
}
