import type { SystemText } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";

export interface EnvironmentFacts {
  readonly user: UnixUser;
  /** "ip:port" of the client and of this end, as far as known. */
  readonly clientAddress: string;
  /** Requested by the client, accepted by `isAcceptedVariable`. */
  readonly accepted: ReadonlyMap<string, Buffer>;
  readonly terminal?: { readonly path: string; readonly kind: string };
  /** Text of /etc/login.defs, empty when there is none. */
  readonly loginDefs: string;
  readonly sessionId: string;
  /** Socket that leads to the client's SSH agent. */
  readonly agentPath?: string | undefined;
  /** X11 display at the client. */
  readonly display?: string | undefined;
}

const defaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/games";
const defaultRootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Maximum variables of one session, and maximum length of name and value together. */
const maxVariables = 64;
const maxVariableLength = 4096;

/** As Debian's sshd_config: AcceptEnv LANG LC_*, and TZ; no value can hold a NUL. */
export function isAcceptedVariable(name: string, value: Buffer, held: number): boolean {
  if (held >= maxVariables || name.length + value.length > maxVariableLength || value.includes(0)) return false;
  return name === "LANG" || name === "TZ" || /^LC_[A-Z0-9_]+$/.test(name);
}

/** The whole environment of a session, as sshd(8) builds it ("LOGIN PROCESS"): nothing comes from the agent's own. Pure. */
export function sessionEnvironment(facts: EnvironmentFacts): Record<string, SystemText> {
  const { user, terminal } = facts;
  const client = splitAddress(facts.clientAddress);
  return {
    ...Object.fromEntries(facts.accepted),
    HOME: user.home,
    USER: user.login,
    LOGNAME: user.login,
    SHELL: user.shell,
    PATH: loginPath(facts.loginDefs, user.uid === 0),
    MAIL: `/var/mail/${user.login}`,
    PLATFORM_SESSION: facts.sessionId,
    ...(facts.agentPath !== undefined && { SSH_AUTH_SOCK: facts.agentPath }),
    ...(facts.display !== undefined && { DISPLAY: facts.display }),
    ...(client && { SSH_CLIENT: `${client.host} ${client.port} 22`, SSH_CONNECTION: `${client.host} ${client.port} 0.0.0.0 22` }),
    ...(terminal && { SSH_TTY: terminal.path, TERM: terminalKind(terminal.kind) }),
  };
}

/** ENV_PATH or ENV_SUPATH of login.defs(5): `PATH=a:b` or `a:b`. */
function loginPath(loginDefs: string, isRoot: boolean): string {
  const key = isRoot ? "ENV_SUPATH" : "ENV_PATH";
  const found = new RegExp(`^[ \\t]*${key}[ \\t]+(?:PATH=)?(\\S+)`, "m").exec(loginDefs);
  return found?.[1] ?? (isRoot ? defaultRootPath : defaultPath);
}

function terminalKind(kind: string): string {
  return /^[A-Za-z0-9._+-]{1,64}$/.test(kind) ? kind : "dumb";
}

function splitAddress(address: string): { host: string; port: string } | undefined {
  const parts = /^\[?([0-9A-Fa-f.:]+)\]?:(\d{1,5})$/.exec(address);
  return parts === null ? undefined : { host: parts[1] as string, port: parts[2] as string };
}
