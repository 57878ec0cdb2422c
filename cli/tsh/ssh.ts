import { readFileSync } from "node:fs";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { Call, Options } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import { defaultLogin } from "../profile/profile.ts";
import { withTrust } from "../profile/reach-cluster.ts";
import { parseOption, parseSshConfig, requireSupported, type SshOption } from "./ssh-option.ts";
import { readSettings } from "./ssh-settings.ts";
import { joinCommand, parseLabelTarget, parseSshTarget } from "./ssh-target.ts";
import { sshToHost } from "./ssh-to-host.ts";

/** `tsh ssh [user@]host [command…]`: the exit status is the remote command's. With labels instead of a host: on all that match. */
export async function ssh(given: Call): Promise<Result> {
  const { options, args } = given;
  const [name = "", ...words] = args;
  const settings = readSettings(options, givenOptions(options, name.slice(name.lastIndexOf("@") + 1)));
  const call: Call = settings.isQuiet ? { ...given, io: { ...given.io, isQuiet: true } } : given;
  const command = joinCommand(words) ?? settings.command;
  if (settings.isSubsystem && command === undefined)
    throw new PlatformError("invalid", "no subsystem was given", { hint: "as in: tsh ssh -s host sftp" });
  const labelled = parseLabelTarget(name, settings.login);
  const target = labelled === undefined ? parseSshTarget(name, settings.login) : undefined;
  const profile = await chosenProfile(call);
  if (labelled !== undefined) {
    const { sshToLabels } = await import("./hosts/ssh-to-labels.ts");
    return await withTrust(call, profile, (trusting) => sshToLabels(call, { ...labelled, profile: trusting, command, settings }));
  }
  const host = target?.host ?? "";
  if (options.flag("printConfig"))
    return printedConfig({ host, user: target?.login ?? defaultLogin(profile.facts), port: options.text("port") ?? "22" });
  return await sshToHost(call, { profile, login: target?.login, target: host, name: host, command, settings });
}

/** The settings of `-o` and of the file of `-F`; throws for unsupported ones. */
function givenOptions(options: Options, host: string): readonly SshOption[] {
  const file = options.text("sshConfig");
  const typed = options.values("option").map(parseOption);
  const given = file === undefined || file === "none" ? typed : [...typed, ...parseSshConfig(readConfig(file), { file, host })];
  for (const one of given) requireSupported(one);
  const path = options.text("controlPath") ?? "none";
  if (path !== "none")
    throw new PlatformError("unsupported", "tsh ssh has no control socket (-S): each connection is independent", { hint: "leave it out" });
  const port = options.text("port");
  if (port !== undefined && !/^\d{1,5}$/.test(port)) throw new PlatformError("invalid", `-p ${JSON.stringify(port)} is not a port`);
  return given;
}

/** Maximum size of an ssh_config, bytes. */
const longestConfig = 1024 * 1024;

function readConfig(file: string): string {
  try {
    const text = readFileSync(file, "utf8");
    if (text.length <= longestConfig) return text;
  } catch (cause) {
    throw new PlatformError("invalid", `-F: could not read ${file}: ${errorText(cause)}`, { cause });
  }
  throw new PlatformError("limit", `-F: ${file} is larger than ${longestConfig} bytes`);
}

/** Programs run `ssh -G` to find out whether ssh's options are accepted (git does). */
function printedConfig(data: { readonly host: string; readonly user: string; readonly port: string }): Result {
  const text = `host ${data.host}\nuser ${data.user}\nhostname ${data.host}\nport ${data.port}`;
  return { ...textResult(text), data };
}
