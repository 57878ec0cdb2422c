import { userInfo } from "node:os";
import { formatHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult, writeNote } from "../output.ts";
import { loginsOf, type Profile, type ProfileFacts } from "../profile/profile.ts";
import { openSshStream } from "./open-stream.ts";
import type { SshSettings } from "./ssh-settings.ts";
import { withTrust } from "./with-trust.ts";

export interface HostAsk {
  readonly profile: Profile;
  /** Undefined: the default login. */
  readonly login: string | undefined;
  /** Name or id of the host. */
  readonly target: string;
  /** Host name for messages. */
  readonly name: string;
  readonly command: string | undefined;
  readonly settings: SshSettings;
}

/** Runs a session on one host, wired to our own streams and terminal. */
export async function sshToHost(call: Call, { profile, target, name, command, settings, ...ask }: HostAsk): Promise<Result> {
  const { io } = call;
  const login = ask.login ?? defaultLogin(profile.facts);
  const { forwards, isForwardOnly, isSubsystem, agent, x11 } = settings;
  const report = settings.isVerbose ? (line: string) => writeNote(io, `tsh: ${line}`) : () => {};
  const session = { command, isSubsystem, pty: wantsPty(io, command, settings), host: name, settings };
  report(`connecting to ${name} as ${login} through ${formatHostPort(profile.facts.proxy)}`);
  const status = await withTrust(call, profile, async (trusting) => {
    // The stream opens while the SSH library loads.
    const opening = openSshStream(io, { profile: trusting, target, login });
    const [stream, { sshOver }] = await Promise.all([opening, import("./ssh-over.ts")]);
    report(`the proxy has opened a stream to ${name}`);
    return await sshOver(stream, { profile: trusting, login, principal: target, session, lend: { agent, x11 }, forwards, isForwardOnly, report }, io);
  });
  report(`exit status ${status}`);
  return { ...textResult(""), status };
}

/** The only login of the certificate, or the local user's name when the certificate lists it, or the first listed one. */
export function defaultLogin(facts: Pick<ProfileFacts, "principals">, local = localUser()): string {
  if (local !== undefined && loginsOf(facts).includes(local)) return local;
  return loginsOf(facts)[0] ?? local ?? "root";
}

function localUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** Whether to request a terminal, as ssh decides: for a shell on a terminal; `-t` for a command too; `-tt` without a local terminal as well. */
function wantsPty(io: CliIo, command: string | undefined, { tty, isStdinNull, isSubsystem }: SshSettings): boolean {
  if (tty === "never" || isSubsystem) return false;
  const terminal = io.stdin.isTTY === true && !isStdinNull;
  if (tty === "auto") return terminal && command === undefined;
  if (!terminal && tty === "wanted") writeNote(io, "no terminal is requested, because standard input is not one (-tt requests one anyway)");
  return terminal || tty === "forced";
}
