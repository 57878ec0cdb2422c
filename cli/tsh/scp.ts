import { exitCodes, PlatformError } from "../../core/errors/platform-error.ts";
import type { Call } from "../command.ts";
import { type Result, textResult, writeFailure } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import { defaultLogin } from "../profile/profile.ts";
import { withTrust } from "../profile/reach-cluster.ts";
import { CopyMeter } from "./copy-meter.ts";
import type { CopyAsk, ScpPlan } from "./copy-over.ts";
import { openConfirmed } from "./session-code.ts";
import { parseSshTarget } from "./ssh-target.ts";

/** `tsh scp`: copies over SFTP. Failures are reported file by file; the status is that of the first one. */
export async function scp(call: Call): Promise<Result> {
  const { io, options } = call;
  const plan = planScp(call.args);
  const profile = await chosenProfile(call);
  const login = plan.login ?? defaultLogin(profile.facts);
  const meter = new CopyMeter(io, { isShown: io.stderr.isTTY === true && !options.flag("quiet") });
  const ask = { login, plan, recursive: options.flag("recursive"), preserve: options.flag("preserve"), progress: meter };
  const onFailure: CopyAsk["onFailure"] = ({ name, error }) => {
    meter.clear();
    writeFailure(io, name, error);
  };
  const failure = await withTrust(call, profile, async (trusting) => {
    const opening = openConfirmed(io, { profile: trusting, kind: "ssh", target: plan.host, parameters: { login } });
    const [{ stream, profile: own }, { copyOver }] = await Promise.all([opening, import("./copy-over.ts")]);
    return await copyOver(stream, { ...ask, profile: own, onFailure });
  });
  return { ...textResult(""), ...(failure !== undefined && { status: exitCodes[failure.code] }) };
}

/** The sources and the target of a copy. All named hosts must be the same one, with the same login. Throws `invalid`. */
export function planScp(words: readonly string[]): ScpPlan {
  const places = words.map(parseScpPlace);
  const target = places.at(-1);
  const sources = places.slice(0, -1);
  const [first] = sources;
  if (target === undefined || first === undefined)
    throw new PlatformError("invalid", "a source and a target are required", { hint: "see: tsh scp --help" });
  const remote = target.remote ?? first.remote;
  if (remote === undefined)
    throw new PlatformError("invalid", "neither the source nor the target is a host", { hint: "name one as [user@]host:path; cp copies here" });
  const wanted = target.remote === undefined ? first.remote : undefined;
  for (const one of sources) {
    if (one.remote?.host === wanted?.host && one.remote?.login === wanted?.login) continue;
    throw new PlatformError(
      "invalid",
      target.remote === undefined ? "all sources must be on one host" : "copying from host to host is not supported",
      {
        hint: "copy in two steps",
      },
    );
  }
  const direction = target.remote === undefined ? "down" : "up";
  return { direction, ...remote, sources: sources.map(({ path }) => path), target: target.path };
}

/** A source or a target of `tsh scp`. */
export interface ScpPlace {
  /** Undefined: this machine. */
  readonly remote?: { readonly login: string | undefined; readonly host: string };
  /** Empty on a host: the home folder. */
  readonly path: string;
}

/** `[user@]host:path`, else a local path: one that has a slash before its first colon is local, as for scp. Throws `invalid`. */
export function parseScpPlace(text: string): ScpPlace {
  const colon = text.indexOf(":");
  if (colon <= 0 || text.slice(0, colon).includes("/")) {
    if (text === "") throw new PlatformError("invalid", "the path is empty");
    return { path: text };
  }
  const { login, host } = parseSshTarget(text.slice(0, colon));
  return { remote: { login, host }, path: text.slice(colon + 1) };
}
