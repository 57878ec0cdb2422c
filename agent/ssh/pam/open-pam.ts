import { existsSync, openSync } from "node:fs";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { pamProgram } from "../../host/pam/pam-program.ts";
import { askPam } from "./ask-pam.ts";
import { type PamConfig, type PamFacts, type PamVariables, pamOrder } from "./pam-order.ts";

/** How a session's process goes through PAM. */
export interface PamWay {
  /** Descriptors of `pam-session` and of this program: by their paths another program could be met, once this process has ended. */
  readonly program: number;
  readonly own: number;
  readonly variables: PamVariables;
}

/** The PAM of this host, for SSH. */
export interface Pam {
  /** Whether the account may come in. Throws PlatformError in PAM's words. */
  checkAccount(facts: PamFacts): Promise<void>;
  way(facts: PamFacts): PamWay;
}

const folders = ["/etc/pam.d", "/usr/lib/pam.d"] as const;
const offHint = "set ssh_service.pam.enabled to no, or";

/**
 * PAM as it is configured; undefined: it is not asked. A host that cannot do what its configuration says does not start: it
 * would let in whom PAM refuses. Throws `invalid`.
 */
export async function openPam(config: PamConfig | undefined, log: Log): Promise<Pam | undefined> {
  if (config === undefined) return undefined;
  const program = usableProgram();
  const path = `/proc/self/fd/${program}`;
  const nobody = { login: "root", uid: 0, gid: 0, home: "/", shell: "/bin/sh" };
  try {
    await askPam({ ask: "check", program: path, variables: pamOrder(config, { user: nobody, identity: { name: "", traits: {} }, clientIp: "" }) });
  } catch (cause) {
    throw unusable(errorText(cause), "install the host's PAM library (libpam.so.0)", cause);
  }
  if (!folders.some((folder) => existsSync(`${folder}/${config.serviceName}`))) {
    log.warn("the PAM service has no file of its own: PAM takes the service other, which refuses on most hosts", { service: config.serviceName });
  }
  const own = openSync("/proc/self/exe", "r");
  return {
    checkAccount: (facts) => askPam({ ask: "account", program: path, variables: pamOrder(config, facts) }),
    way: (facts) => ({ program, own, variables: pamOrder(config, facts) }),
  };
}

function usableProgram(): number {
  if (process.geteuid?.() !== 0) throw unusable("an agent that is not root cannot open PAM sessions", "run it as root");
  let program: number | undefined;
  try {
    program = pamProgram();
  } catch (cause) {
    throw unusable(errorText(cause), "let files be executed in /tmp, /dev/shm or /run", cause);
  }
  if (program === undefined) throw unusable("this program runs from source, without pam-session", "run the built executable");
  return program;
}

function unusable(why: string, what: string, cause?: unknown): PlatformError {
  return new PlatformError("invalid", `ssh_service.pam is enabled, and cannot be used here: ${why}`, { hint: `${offHint} ${what}`, cause });
}
