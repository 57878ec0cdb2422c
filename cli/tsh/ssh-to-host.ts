import { userInfo } from "node:os";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult, writeNote } from "../output.ts";
import type { Profile, ProfileFacts } from "../profile/profile.ts";
import { parseDynamic, parseForward } from "./forwarding/forward-spec.ts";
import type { ForwardAsk } from "./forwarding/start-forwards.ts";
import { openSshStream } from "./open-stream.ts";
import type { LendAsk } from "./ssh-over.ts";
import { withTrust } from "./with-trust.ts";

export interface HostAsk {
  readonly profile: Profile;
  /** Undefined: the default one. */
  readonly login: string | undefined;
  /** Name or id. */
  readonly target: string;
  /** For messages. */
  readonly name: string;
  readonly command: string | undefined;
}

/** One host, wired to our own streams and terminal. */
export async function sshToHost(call: Call, { profile, target, name, command, ...ask }: HostAsk): Promise<Result> {
  const { io, options } = call;
  const login = ask.login ?? defaultLogin(profile.facts);
  const forwards: ForwardAsk = {
    local: options.list("localForward").map((text) => parseForward(text, "-L")),
    remote: options.list("remoteForward").map((text) => parseForward(text, "-R")),
    dynamic: options.list("dynamicForward").map(parseDynamic),
  };
  const isForwardOnly = options.flag("noCommand");
  const pty = wantsPty({ io, command, forced: options.count("tty"), never: options.flag("disableTty") });
  const lend: LendAsk = {
    agent: options.flag("forwardAgent"),
    x11: options.flag("x11Trusted") ? "trusted" : options.flag("x11") ? "untrusted" : undefined,
  };
  const session = { command, pty, host: name };
  const status = await withTrust(call, profile, async (trusting) => {
    // The stream opens while the SSH library loads.
    const opening = openSshStream(io, { profile: trusting, target, login });
    const [stream, { sshOver }] = await Promise.all([opening, import("./ssh-over.ts")]);
    return await sshOver(stream, { profile: trusting, login, principal: target, session, lend, forwards, isForwardOnly }, io);
  });
  return { ...textResult(""), status };
}

/** The only login of the certificate, or the local user's name when the certificate lists it, or the first listed one. */
export function defaultLogin(facts: Pick<ProfileFacts, "logins">, local = localUser()): string {
  if (local !== undefined && facts.logins.includes(local)) return local;
  return facts.logins[0] ?? local ?? "root";
}

function localUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

interface PtyAsk {
  readonly io: CliIo;
  readonly command: string | undefined;
  readonly forced: number;
  readonly never: boolean;
}

/** As ssh decides it: for a shell on a terminal; `-t` for a command too; `-tt` without a local terminal as well. */
function wantsPty({ io, command, forced, never }: PtyAsk): boolean {
  if (never) return false;
  const terminal = io.stdin.isTTY === true;
  if (forced === 0) return terminal && command === undefined;
  if (!terminal && forced === 1) writeNote(io, "no terminal is asked for, because standard input is none (-tt asks for one all the same)");
  return terminal || forced > 1;
}
