import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { SshAlgorithms } from "../../core/ssh/algorithms.ts";
import { openSessionGroups } from "../host/cgroups/session-groups.ts";
import { sessionProgram } from "../host/session/session-program.ts";
import { endLogin } from "../host/spawn.ts";
import { findUnixUser, requireOpenAccount, type UnixUser } from "../host/unix-user.ts";
import { openHostUsers } from "../host-users/host-users.ts";
import type { Service, ServiceDeps, Services } from "../service/service.ts";
import { UserLimits } from "../ssh-server/user-limits.ts";
import { openPam, type Pam } from "./open-pam.ts";
import type { PamConfig } from "./program/session-order.ts";
import type { SshDeps } from "./user-connection.ts";

export interface SshConfig {
  readonly makesUsers: boolean;
  /** Algorithms offered to clients; omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** Left out: PAM is not asked. */
  readonly pam?: PamConfig | undefined;
}

/** Opens the programs that start sessions and PAM. Throws `invalid` or `unsupported` when this host cannot do it. */
export async function prepareSsh(config: SshConfig, log: Log): Promise<Service> {
  const starter = openStarter();
  const pam = await openPam(config.pam, starter, log);
  return { name: "ssh", open: async (deps) => ({ serve: services(await sshDeps(deps, { config, starter, pam })) }) };
}

/** Throws the configuration errors that `prepareSsh` would. */
export async function checkSsh({ pam }: SshConfig, log: Log): Promise<void> {
  if (pam !== undefined) await openPam(pam, openStarter(), log);
}

interface Prepared {
  readonly config: SshConfig;
  /** Path of `session-start`. */
  readonly starter: string;
  readonly pam: Pam | undefined;
}

async function sshDeps(deps: ServiceDeps, { config, starter, pam }: Prepared): Promise<SshDeps> {
  const { audit, credentials, log, node } = deps;
  const isRoot = process.geteuid?.() === 0;
  // Leftovers of a killed process of this agent.
  endLogin(0, log);
  const hostUsers = await openHostUsers({
    isEnabled: config.makesUsers,
    log,
    onRemoved: (login) => audit.record({ event: "host_user.removed", server_id: credentials().hostId, server_name: node.name, login }),
  });
  return {
    ...deps,
    limits: new UserLimits(),
    hostUsers,
    algorithms: config.algorithms,
    pam,
    findUser: pam === undefined && isRoot ? findOpenUser : findUnixUser,
    starter,
    groups: isRoot ? openSessionGroups(log) : undefined,
    launch: ownCommand(),
  };
}

/** Their code is loaded at the first stream, to save memory in an idle agent. */
function services(deps: SshDeps): Services {
  return {
    ssh: async (stream, request, life) => {
      const { serveSsh } = await import("./serve-ssh.ts");
      await serveSsh(stream, request, deps, life);
    },
  };
}

/** The Unix user of a login whose account is open: used where PAM, which would decide that, is not asked. */
async function findOpenUser(login: string): Promise<UnixUser> {
  // In parallel: each is a program that may ask a directory server.
  const open = requireOpenAccount(login);
  open.catch(() => {});
  const user = await findUnixUser(login);
  await open;
  return user;
}

/** Path of the program that starts sessions, valid for as long as this process lives. Throws `unsupported` where it cannot run. */
function openStarter(): string {
  let program: number | undefined;
  try {
    program = sessionProgram();
  } catch (cause) {
    throw new PlatformError("unsupported", `could not start sessions on this host: ${errorText(cause)}`, {
      hint: "allow execution of files in one of /tmp, /dev/shm and /run",
      cause,
    });
  }
  if (program === undefined) throw new PlatformError("unsupported", "only the built executable can start sessions, and this runs from source");
  return `/proc/self/fd/${program}`;
}

/**
 * How to start this program again: the executable alone, or Node with main.ts when it runs from source. The executable is
 * the one that runs: its file may have been replaced by another version, which may not work.
 */
function ownCommand(): readonly [program: string, ...args: string[]] {
  return isSea() ? ["/proc/self/exe"] : [process.execPath, fileURLToPath(new URL("../../main.ts", import.meta.url))];
}
