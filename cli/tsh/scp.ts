import { exitCodes } from "../../core/errors/exit-code.ts";
import type { Call } from "../command.ts";
import { CopyMeter } from "../copy-meter.ts";
import { type Result, textResult, writeFailure } from "../output.ts";
import type { CopyAsk } from "./copy-over.ts";
import { openSshStream } from "./open-stream.ts";
import { planScp } from "./scp-place.ts";
import { defaultLogin } from "./ssh-to-host.ts";
import { chosenProfile } from "./with-profile.ts";
import { withTrust } from "./with-trust.ts";

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
    const opening = openSshStream(io, { profile: trusting, target: plan.host, login });
    const [stream, { copyOver }] = await Promise.all([opening, import("./copy-over.ts")]);
    return await copyOver(stream, { ...ask, profile: trusting, onFailure });
  });
  return { ...textResult(""), ...(failure !== undefined && { status: exitCodes[failure.code] }) };
}
