import { readFile } from "node:fs/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { InCluster } from "../../../core/kubernetes/in-cluster.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import type { ExecPlugin } from "../kubeconfig/parse-kubeconfig.ts";
import type { Upstream, ValueOrFile } from "../kubeconfig/upstream-of.ts";
import { type PluginLogin, runPlugin } from "./run-plugin.ts";

/** The agent's current credentials for an API server, and the authorities that it trusts there. */
export interface Login {
  readonly token?: string | undefined;
  /** PEM. */
  readonly certificate?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly ca?: readonly string[] | undefined;
}

/** Where the login comes from. */
export type LoginSource = Pick<Upstream, "ca" | "account"> | Pick<InCluster, "credentials">;

/** Age at which files are read again, ms. */
const maxAgeMs = 60_000;
/** Time after a refusal in which further ones change nothing, ms: a plugin would be run for each request. */
const refusedMs = 5_000;
/** Rest of a plugin's credentials with which it is run again, ms. */
const leastMs = 60_000;
/**
 * Time for which the login from before is kept after it could not be read, and for which a plugin is not run again, whatever came of it, ms: it may take long
 * to fail, and by this host's clock its credentials may always have expired.
 */
const keptMs = 5_000;
const maxFile = 1024 * 1024;

export interface LoginDeps {
  readonly env: Env;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Monotonic, ms. */
  readonly steady?: () => number;
}

/** The login of one cluster, read again as files age and as plugins' credentials expire; once for all requests that wait for it. */
export class LoginKeeper {
  readonly #source: LoginSource;
  readonly #deps: LoginDeps;
  #known: Login | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #refusedAt = Number.NEGATIVE_INFINITY;
  /** The API server refused what is known. */
  #isRefused = false;
  #plugin: PluginLogin | undefined;
  /** The plugin's last run. */
  #run: { readonly result: Promise<PluginLogin>; readonly endedAt: number } | undefined;
  #reading: Promise<Login> | undefined;

  constructor(source: LoginSource, deps: LoginDeps) {
    this.#source = source;
    this.#deps = deps;
  }

  /**
   * The one from before while it cannot be read, and while a plugin runs, unless that was refused or has expired. Throws `unavailable` or `timeout` when there
   * is none.
   */
  async current(): Promise<Login> {
    const known = this.#known;
    if (known !== undefined && this.#steady() - this.#readAt < maxAgeMs && !this.#hasExpired) return known;
    this.#reading ??= this.#readOrKeep().finally(() => {
      this.#reading = undefined;
    });
    if (known === undefined || !this.#endsSoon || this.#hasExpired) return await this.#reading;
    // A plugin may take half a minute. Files are waited for: nothing else states that what they held has expired.
    this.#reading.catch(() => {});
    return known;
  }

  /** The API server refused it: the next request reads it again, and asks a plugin again, but not every time. */
  refused(): void {
    if (this.#steady() - this.#refusedAt < refusedMs) return;
    this.#refusedAt = this.#steady();
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#plugin = undefined;
    this.#run = undefined;
    this.#isRefused = true;
  }

  async #readOrKeep(): Promise<Login> {
    try {
      return await this.#read();
    } catch (thrown) {
      const known = this.#known;
      if (known === undefined || this.#isRefused || this.#hasExpired) throw thrown;
      this.#readAt = this.#steady() - maxAgeMs + keptMs;
      return known;
    }
  }

  get #hasExpired(): boolean {
    const { expires } = this.#plugin ?? {};
    return expires !== undefined && expires.getTime() <= this.#now();
  }

  /** Credentials of a plugin, which is run again. */
  get #endsSoon(): boolean {
    const { expires } = this.#plugin ?? {};
    return expires !== undefined && expires.getTime() - this.#now() < leastMs;
  }

  async #read(): Promise<Login> {
    const login = "credentials" in this.#source ? podLogin(await this.#source.credentials()) : await this.#fromFile(this.#source);
    this.#known = login;
    this.#readAt = this.#steady();
    this.#isRefused = false;
    return login;
  }

  async #fromFile({ ca, account }: Pick<Upstream, "ca" | "account">): Promise<Login> {
    const trusted = ca === undefined ? {} : { ca: [await textOf(ca)] };
    if (account.kind === "none") return trusted;
    if (account.kind === "token") {
      const token = (await textOf(account.token)).trim();
      if (!/^[\x21-\x7e]+$/.test(token)) throw new PlatformError("unavailable", "the token of the kubeconfig holds characters that no token has");
      return { ...trusted, token };
    }
    if (account.kind === "certificate") return { ...trusted, certificate: await textOf(account.certificate), privateKey: await textOf(account.key) };
    const { token, certificate, privateKey } = await this.#fromPlugin(account.plugin);
    return { ...trusted, token, certificate, privateKey };
  }

  async #fromPlugin(plugin: ExecPlugin): Promise<PluginLogin> {
    if (this.#plugin !== undefined && !this.#endsSoon) return this.#plugin;
    if (this.#run === undefined || this.#steady() - this.#run.endedAt >= keptMs) {
      const result = runPlugin(plugin, this.#deps.env, this.#deps.signal);
      await result.catch(() => {});
      this.#run = { result, endedAt: this.#steady() };
    }
    this.#plugin = await this.#run.result;
    return this.#plugin;
  }

  #now(): number {
    return (this.#deps.now ?? (() => new Date()))().getTime();
  }

  #steady(): number {
    return (this.#deps.steady ?? (() => performance.now()))();
  }
}

function podLogin({ token, caPem }: { readonly token: string; readonly caPem: string }): Login {
  return { token, ca: [caPem] };
}

async function textOf(from: ValueOrFile): Promise<string> {
  if ("value" in from) return from.value;
  let text: string;
  try {
    text = await readFile(from.file, "utf8");
  } catch (cause) {
    throw new PlatformError("unavailable", `could not read ${from.file}, which the kubeconfig names`, { cause });
  }
  if (text.length > maxFile) throw new PlatformError("unavailable", `${from.file}, which the kubeconfig names, is too large`);
  return text;
}
