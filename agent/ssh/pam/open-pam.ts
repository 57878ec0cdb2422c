import { existsSync, openSync } from "node:fs";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import { type OrderVariables, sessionOrder } from "../program/session-order.ts";
import { askPam } from "./ask-pam.ts";
import { type PamConfig, type PamFacts, pamOrder } from "./pam-order.ts";

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
