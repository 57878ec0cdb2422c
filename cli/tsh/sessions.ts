import { openAuthClient } from "../../core/api/auth-client.ts";
import type { ListedSession } from "../../core/resources/session.ts";
import { activeSessions, sessionsResult } from "../active-sessions.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import type { Result } from "../output.ts";
import { dialProxy } from "../profile/dial-proxy.ts";
import { otherAuthority } from "../profile/other-authority.ts";
import { type Profile, requireValid } from "../profile/profile.ts";
import { chosenProfile } from "./with-profile.ts";

/** `tsh sessions ls`. */
export async function listSessions(call: Call): Promise<Result> {
  return sessionsResult(await visibleSessions(call.io, await chosenProfile(call)));
}

/** The running sessions that the user may see, newest first. */
export async function visibleSessions(io: CliIo, { facts, secrets, hostCaPem }: Profile): Promise<readonly ListedSession[]> {
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialProxy(facts, io), ca: hostCaPem, credentials });
  return await activeSessions(connection.client).catch((thrown: unknown) => {
    throw otherAuthority(thrown, facts.proxy);
  });
}
