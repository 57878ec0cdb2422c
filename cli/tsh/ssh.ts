import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { joinCommand, parseLabelTarget, parseSshTarget } from "./ssh-target.ts";
import { sshToHost } from "./ssh-to-host.ts";
import { chosenProfile } from "./with-profile.ts";
import { withTrust } from "./with-trust.ts";

/** `tsh ssh [user@]host [command…]`: the status is the remote command's. With labels instead of a host: on all that match. */
export async function ssh(call: Call): Promise<Result> {
  const { options } = call;
  const [name = "", ...words] = call.args;
  const command = joinCommand(words[0] === "--" ? words.slice(1) : words);
  const labelled = parseLabelTarget(name, options.text("login"));
  const target = labelled === undefined ? parseSshTarget(name, options.text("login")) : undefined;
  const profile = await chosenProfile(call);
  if (labelled !== undefined) {
    const { sshToLabels } = await import("./hosts/ssh-to-labels.ts");
    return await withTrust(call, profile, (trusting) => sshToLabels(call, { ...labelled, profile: trusting, command }));
  }
  const host = target?.host ?? "";
  return await sshToHost(call, { profile, login: target?.login, target: host, name: host, command });
}
