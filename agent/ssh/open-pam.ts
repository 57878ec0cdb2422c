import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { UnixUser } from "../host/unix-user.ts";
import { type OrderVariables, type PamConfig, type PamFacts, pamOrder, sessionOrder } from "./program/session-order.ts";

/** The user, the account and the client's address; empty when not known. */
export interface PamAccount extends PamFacts {
  readonly user: UnixUser;
  readonly clientIp: string;
}

/** How SFTP goes through PAM: `session-start` opens the session and turns into this program. */
export interface PamFiles {
  readonly starter: string;
  /** Descriptor of this program: its path could lead to another program once this process has ended. */
  readonly own: number;
  readonly variables: OrderVariables;
}

/** The PAM of this host, for SSH. */
export interface Pam {
  /** Checks whether the account may log in. Throws PlatformError with PAM's message. */
  checkAccount(account: PamAccount): Promise<void>;
  /** The order for a session that `session-start` opens and becomes. */
  order(facts: PamFacts): OrderVariables;
  files(account: PamAccount): PamFiles;
}

const folders = ["/etc/pam.d", "/usr/lib/pam.d"] as const;
const offHint = "set ssh_service.pam.enabled to no, or";

/**
 * PAM as configured; undefined when it is disabled. A host that cannot do what its configuration demands does not start: it
 * would admit users whom PAM refuses. Throws `invalid`.
 */
export async function openPam(config: PamConfig | undefined, starter: string, log: Log): Promise<Pam | undefined> {
  if (config === undefined) return undefined;
  if (process.geteuid?.() !== 0) throw unusable("an agent that is not root cannot open PAM sessions", "run it as root");
  const variablesOf = (account: PamAccount): OrderVariables => ({ ...sessionOrder({ ...account, becomes: false }), ...pamOrder(config, account) });
  const nobody = { user: { login: "root", uid: 0, gid: 0, home: "/", shell: "/bin/sh" }, identity: { name: "", traits: {} }, clientIp: "" };
  try {
    await askPam({ ask: "check", starter, variables: variablesOf(nobody) });
  } catch (cause) {
    throw unusable(errorText(cause), "install the host's PAM library (libpam.so.0)", cause);
  }
  if (!folders.some((folder) => existsSync(`${folder}/${config.serviceName}`))) {
    log.warn("the PAM service has no file in /etc/pam.d: PAM uses the service other, which refuses on most hosts", { service: config.serviceName });
  }
  const own = openSync("/proc/self/exe", "r");
  return {
    checkAccount: (account) => askPam({ ask: "account", starter, variables: variablesOf(account) }),
    order: (facts) => pamOrder(config, facts),
    files: (account) => ({ starter, own, variables: variablesOf(account) }),
  };
}

function unusable(why: string, what: string, cause?: unknown): PlatformError {
  return new PlatformError("invalid", `ssh_service.pam is enabled but cannot be used here: ${why}`, { hint: `${offHint} ${what}`, cause });
}

interface PamQuestion {
  /** Checks that the library can be used; checks whether the account may log in. */
  readonly ask: "check" | "account";
  /** Path of `session-start`. */
  readonly starter: string;
  readonly variables: OrderVariables;
  /** Default: 20 s, which is less than the limit of a handshake. */
  readonly limitMs?: number;
}

/** Longest answer that is kept. */
const maxAnswer = 2000;

/** Resolves when PAM says yes. Throws `denied` with its modules' message, `unavailable` when there is no answer. */
export function askPam({ ask, starter, variables, limitMs = 20_000 }: PamQuestion): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const noAnswer = (why: string, cause?: unknown): void =>
    reject(new PlatformError("unavailable", `could not ask PAM on this host: ${why}`, { cause }));
  const child = spawn(starter, [ask], {
    argv0: "platform",
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env: { ...variables },
    cwd: "/",
  });
  const timer = setTimeout(() => {
    noAnswer(`no answer within ${limitMs / 1000} s`);
    child.kill("SIGKILL");
  }, limitMs);
  let answer = "";
  (child.stdio[3] as Readable | null | undefined)?.on("data", (chunk: Buffer) => {
    answer = (answer + chunk.toString("utf8")).slice(0, maxAnswer);
  });
  child.once("error", (cause) => noAnswer("could not start its process", cause));
  child.once("close", (code, signal) => {
    clearTimeout(timer);
    if (code === 0) resolve();
    else if (answer !== "") reject(new PlatformError("denied", answer));
    else noAnswer(`ended by ${signal ?? `exit status ${code}`}`);
  });
  return promise;
}
