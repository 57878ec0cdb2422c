import { exitCodes } from "../../core/errors/exit-code.ts";
import type { Call } from "../command.ts";
import { CopyMeter } from "../copy-meter.ts";
import { type Result, textResult, writeFailure } from "../output.ts";
import { openSshStream } from "./open-stream.ts";
import { planScp } from "./scp-place.ts";
import { defaultLogin } from "./ssh-to-host.ts";
import { chosenProfile } from "./with-profile.ts";

/** `tsh scp`: copies over SFTP. What failed is told file by file; the status is that of the first failure. */
export async function scp(call: Call): Promise<Result> {
  const { io, options } = call;
  const plan = planScp(call.args);
  const profile = await chosenProfile(call);
  const login = plan.login ?? defaultLogin(profile.facts);
  const opening = openSshStream(io, { profile, target: plan.host, login });
  const [stream, { copyOver }] = await Promise.all([opening, import("./copy-over.ts")]);
  const meter = new CopyMeter(io, { isShown: io.stderr.isTTY === true && !options.flag("quiet") });
  const failure = await copyOver(stream, {
    profile,
    login,
    plan,
    recursive: options.flag("recursive"),
    preserve: options.flag("preserve"),
    progress: meter,
    onFailure: ({ name, error }) => {
      meter.clear();
      writeFailure(io, name, error);
    },
  });
  return { ...textResult(""), ...(failure !== undefined && { status: exitCodes[failure.code] }) };
}
