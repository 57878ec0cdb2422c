import { PlatformError } from "../../core/errors/platform-error.ts";
import { type JoinMode, joinLogin, joinModes, type ListedSession } from "../../core/resources/session.ts";
import { activeSessions, sessionsResult } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import type { Profile } from "../profile/profile.ts";
import { withAuth, withTrust } from "../profile/reach-cluster.ts";
import { openConfirmed } from "./session-code.ts";

/** `tsh sessions ls`. */
export async function listSessions(call: Call): Promise<Result> {
  return sessionsResult(await visibleSessions(call.io, await chosenProfile(call)));
}

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
    const opening = openConfirmed(
      io,
      { profile: trusting, kind: "join", target: sid, parameters: { mode } },
      `the session on ${session.server_name}`,
    );
    const [{ stream, profile: own }, { joinOver }] = await Promise.all([opening, import("./ssh-over.ts")]);
    return await joinOver(stream, { profile: own, login: joinLogin, session, mode }, io);
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

/** The running sessions that the user may see, newest first. */
async function visibleSessions(io: CliIo, profile: Profile): Promise<readonly ListedSession[]> {
  return await withAuth(io, profile, activeSessions);
}
