import { formatHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult, writeNote } from "../output.ts";
import { defaultLogin, type Profile } from "../profile/profile.ts";
import { withTrust } from "../profile/reach-cluster.ts";
import { openConfirmed } from "./session-code.ts";
import type { SshSettings } from "./ssh-settings.ts";

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
    const opening = openConfirmed(io, { profile: trusting, kind: "ssh", target, parameters: { login } }, name);
    const [{ stream, profile: own }, { sshOver }] = await Promise.all([opening, import("./ssh-over.ts")]);
    report(`the proxy has opened a stream to ${name}`);
    return await sshOver(stream, { profile: own, login, principal: target, session, lend: { agent, x11 }, forwards, isForwardOnly, report }, io);
  });
  report(`exit status ${status}`);
  return { ...textResult(""), status };
}

/** Whether to request a terminal, as ssh decides: for a shell on a terminal; `-t` for a command too; `-tt` without a local terminal as well. */
function wantsPty(io: CliIo, command: string | undefined, { tty, isStdinNull, isSubsystem }: SshSettings): boolean {
  if (tty === "never" || isSubsystem) return false;
  const terminal = io.stdin.isTTY === true && !isStdinNull;
  if (tty === "auto") return terminal && command === undefined;
  if (!terminal && tty === "wanted") writeNote(io, "no terminal is requested, because standard input is not one (-tt requests one anyway)");
  return terminal || tty === "forced";
}
