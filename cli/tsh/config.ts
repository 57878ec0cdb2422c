import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { loadFacts, proxyOption } from "../profile/choose-profile.ts";
import { type ProfileFacts, requireValid } from "../profile/profile.ts";
import { type ProfilePaths, profilePaths, tshHome } from "../profile/profile-folder.ts";

/** `tsh config`: a stanza for ssh_config that lets a stock ssh reach the hosts of the cluster. */
export async function config(call: Call): Promise<Result> {
  const home = tshHome(call.io.env);
  const facts = await loadFacts(home, proxyOption(call));
  requireValid(facts, new Date());
  const paths = profilePaths(home, facts.proxy);
  const command = ownCommand("tsh", call.io);
  const text = sshConfigStanza({ facts, paths, command, tshHome: call.io.env.TSH_HOME || undefined });
  return { data: { cluster: facts.cluster, ...paths, ssh_config: text }, text };
}

export interface StanzaFacts {
  readonly facts: Pick<ProfileFacts, "cluster" | "proxy">;
  readonly paths: ProfilePaths;
  /** Words that start tsh, the first an absolute path. */
  readonly command: readonly string[];
  /** TSH_HOME, when it is not the default. */
  readonly tshHome: string | undefined;
}

/** Sources: ssh_config(5), TOKENS and the quoting of arguments; ProxyCommand is run by the user's shell after expansion of %. */
export function sshConfigStanza({ facts, paths, command, tshHome: home }: StanzaFacts): string {
  const words = [...command, "proxy", "ssh", `--proxy=${formatHostPort(facts.proxy)}`, `--cluster=${facts.cluster}`];
  const env = home === undefined ? [] : [`env TSH_HOME=${shellWord(home)}`];
  // Without exec: ssh itself puts that before the command.
  const proxyCommand = [...env, ...words.map(shellWord)].join(" ").replaceAll("%", "%%");
  return [
    `# ${facts.cluster} through ${formatHostPort(facts.proxy)}`,
    `Host *.${facts.cluster}`,
    `    ProxyCommand ${proxyCommand} %r@%h:%p`,
    `    IdentityFile ${configWord(paths.key)}`,
    `    CertificateFile ${configWord(paths.cert)}`,
    `    UserKnownHostsFile ${configWord(paths.knownHosts)}`,
    "    GlobalKnownHostsFile /dev/null",
    "    IdentitiesOnly yes",
    "    StrictHostKeyChecking yes",
  ].join("\n");
}

function shellWord(word: string): string {
  refuseLineBreak(word);
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** An argument of ssh_config: % starts a token, $ after { a variable; quotes allow spaces. */
function configWord(word: string): string {
  refuseLineBreak(word);
  const escaped = word.replaceAll("%", "%%");
  return /^[A-Za-z0-9_@%+=:,./~-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function refuseLineBreak(word: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this matches
  if (!/[\u0000-\u001f]/.test(word)) return;
  throw new PlatformError("invalid", `${JSON.stringify(word)} cannot be written into an ssh configuration`, { hint: "set TSH_HOME to a plain path" });
}
