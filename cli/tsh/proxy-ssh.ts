import { finished } from "node:stream/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { withoutCluster } from "../../core/identity/cluster-names.ts";
import type { Call } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import { defaultLogin } from "../profile/profile.ts";
import { withTrust } from "../profile/reach-cluster.ts";
import { openSshStream } from "./open-stream.ts";
import { parseSshTarget } from "./ssh-target.ts";

/** `tsh proxy ssh [user@]host[:port]`: the bytes of the host's SSH service on our own standard streams, for ProxyCommand. */
export async function proxySsh(call: Call): Promise<Result> {
  const { io, options } = call;
  const target = parseSshTarget(call.args[0] ?? "", options.text("login"));
  const profile = await chosenProfile(call);
  const host = withoutCluster(target.host, options.text("cluster"));
  const login = target.login ?? defaultLogin(profile.facts);
  const stream = await withTrust(call, profile, (trusting) => openSshStream(io, { profile: trusting, target: host, login }));
  let isReaderGone = false;
  const gone = (): void => {
    isReaderGone = true;
    stream.destroy();
  };
  stream.allowHalfOpen = true;
  io.stdout.on("error", gone);
  io.stdin.on("error", gone).pipe(stream);
  stream.pipe(io.stdout, { end: false });
  // ssh closes its end once our output ends: the other direction is not awaited.
  const cause = await finished(stream, { writable: false }).catch((thrown: unknown) => thrown);
  io.stdin.off("error", gone).unpipe(stream).pause();
  io.stdout.off("error", gone);
  stream.destroySoon();
  if (cause !== undefined && !isReaderGone) throw new PlatformError("unavailable", `the connection to ${host} was lost`, { cause });
  return textResult("");
}
