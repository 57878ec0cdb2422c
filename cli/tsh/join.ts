import { PlatformError } from "../../core/errors/platform-error.ts";
import { type JoinMode, joinModes } from "../../core/resources/session.ts";
import type { Call } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { openStream } from "./open-stream.ts";
import { visibleSessions } from "./sessions.ts";
import { chosenProfile } from "./with-profile.ts";
import { withTrust } from "./with-trust.ts";

/** `tsh join <session>`: participates in a running session until its end. */
export async function join(call: Call): Promise<Result> {
  const { io, options } = call;
  const [sid = ""] = call.args;
  const mode = modeOption(options.text("mode"));
  const profile = await chosenProfile(call);
  const status = await withTrust(call, profile, async (trusting) => {
    // The certificate must name the host of the session.
    const session = (await visibleSessions(io, trusting)).find((one) => one.sid === sid);
    if (session === undefined) throw unseen(sid);
    const opening = openStream(io, { profile: trusting, kind: "join", target: sid, parameters: { mode } });
    const [stream, { joinOver }] = await Promise.all([opening, import("./join-over.ts")]);
    return await joinOver(stream, { profile: trusting, session, mode }, io);
  });
  return { ...textResult(""), status };
}

function modeOption(text: string | undefined): JoinMode {
  return joinModes.find((mode) => mode === text) ?? "observer";
}

function unseen(sid: string): PlatformError {
  return new PlatformError("not_found", `there is no running session ${JSON.stringify(sid.slice(0, 64))} that you may join`, {
    hint: "tsh sessions ls lists those that you may see",
  });
}
