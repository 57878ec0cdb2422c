import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { chooseProxy, type Env } from "../../core/transport/dial/choose-proxy.ts";
import type { ProxyUrl } from "../../core/transport/dial/proxy-url.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { type CommandResult, runCommand, standardPath } from "../run-command.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { commandFailure, type Step } from "./command-failure.ts";
import type { InstallerDeps } from "./installer.ts";

export interface HostCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly step: Step;
  /** The failed action, for the error: `could not read the repository's index`. */
  readonly what: string;
  /** Successful exit statuses; default only 0. */
  readonly ok?: readonly number[];
  readonly cwd?: string;
}

/** Runs a command of the package manager; throws UpgradeError unless its status is one of `ok`. */
export type RunOnHost = (command: HostCommand) => Promise<CommandResult>;

const minute = 60_000;
const limits: Readonly<Record<Step, number>> = { other: minute, refresh: 3 * minute, download: 15 * minute, install: 15 * minute };

/**
 * Runs commands with the environment for a package manager, waits while another program holds it, and ends a
 * transaction that has begun only at its time limit. `repositoryFiles`: the first that exists names our repository.
 */
export function createRunOnHost(deps: InstallerDeps, repositoryFiles: readonly string[]): RunOnHost {
  const { log, env, signal } = deps;
  return async ({ file, args, step, what, ok = [0], cwd }) => {
    const environment = childEnvironment(env, step === "other" ? undefined : await addressIn(repositoryFiles));
    const ended = step === "install" ? undefined : signal;
    const attempt = async (): Promise<CommandResult> => {
      const result = await runCommand({ file, args, env: environment, limitMs: limits[step], signal: ended, ...(cwd !== undefined && { cwd }) });
      log.debug("ran a command", { file, args: args.join(" "), ended: result.ended, status: result.status });
      if (result.ended === "exit" && ok.includes(result.status)) return result;
      throw commandFailure(what, step, result);
    };
    return await waitWhileBusy(attempt, { log, signal });
  };
}

async function addressIn(files: readonly string[]): Promise<HostPort | undefined> {
  for (const file of files) {
    try {
      return repositoryAddress(await readFile(file, "utf8"));
    } catch {
      // Not in this file.
    }
  }
  return undefined;
}

const setting = /^\s*(?:deb\s+(?:\[[^\]]*\]\s+)?|uris:\s*|baseurl\s*=\s*)([a-z+]+:\S*)/i;

/**
 * Host and port of the repository first named in a sources list of apt (either form) or a repository file of dnf or zypper;
 * undefined if none is reached over HTTP. Never throws.
 */
export function repositoryAddress(text: string): HostPort | undefined {
  for (const line of text.split("\n")) {
    const [, written] = setting.exec(line) ?? [];
    if (written === undefined || !URL.canParse(written)) continue;
    const url = new URL(written);
    if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port };
  }
  return undefined;
}

interface BusyOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Maximum time that another program may hold the package manager. */
  readonly waitMs?: number;
  readonly pauseMs?: number;
}

/**
 * Retries while another program holds the package manager (apt's timers take it for minutes), for a minute; then it throws that
 * error. The action must not have changed anything when it throws `package_manager_busy`.
 */
export async function waitWhileBusy<T>(attempt: () => Promise<T>, { log, signal, waitMs = 60_000, pauseMs = 2000 }: BusyOptions): Promise<T> {
  const end = performance.now() + waitMs;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof UpgradeError) || thrown.reason !== "package_manager_busy" || performance.now() + pauseMs >= end) throw thrown;
      if (tries === 0) log.info("another program holds the package manager: waiting", { error: errorText(thrown) });
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

/** No prompts, no restarted services, and the same messages, language and programs everywhere. */
const quiet = {
  PATH: standardPath,
  HOME: "/root",
  LC_ALL: "C.UTF-8",
  TERM: "dumb",
  DEBIAN_FRONTEND: "noninteractive",
  DEBIAN_PRIORITY: "critical",
  APT_LISTCHANGES_FRONTEND: "none",
  APT_LISTBUGS_FRONTEND: "none",
  UCF_FORCE_CONFFOLD: "1",
  NEEDRESTART_MODE: "l",
  NEEDRESTART_SUSPEND: "1",
  // We do the waiting ourselves.
  ZYPP_LOCK_TIMEOUT: "0",
} as const;

/**
 * The environment of a package manager. A proxy with its password reaches it this way and never on a command line;
 * whether the repository is behind one is decided by our rules (chooseProxy), which every package manager would read differently.
 * Throws UpgradeError `not_configured` for an invalid proxy.
 */
export function childEnvironment(env: Env, repository: HostPort | undefined): Record<string, string> {
  if (repository === undefined) return quiet;
  try {
    const route = chooseProxy(repository, env);
    if (route.kind === "direct") return quiet;
    const proxy = proxyText(route.url);
    return { ...quiet, http_proxy: proxy, https_proxy: proxy, HTTPS_PROXY: proxy };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    throw new UpgradeError("not_configured", thrown.hint === undefined ? thrown.message : `${thrown.message}; ${thrown.hint}`);
  }
}

function proxyText({ scheme, host, port, credentials }: ProxyUrl): string {
  const user = credentials === undefined ? "" : `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}@`;
  return `${scheme}://${user}${host.includes(":") ? `[${host}]` : host}:${port}`;
}
