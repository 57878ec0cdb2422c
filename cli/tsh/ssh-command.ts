import type { CommandSpec, OptionSpec } from "../command.ts";
import { identityOption } from "../identity-option.ts";

/** What ssh has and tsh has not: refused by name, so that nothing is passed over in silence. */
const refused: readonly (readonly [flags: string, why: string])[] = [
  ["-1", "it speaks SSH 2 only"],
  ["-B <interface>", "the connection goes to the proxy"],
  ["-b <address>", "the connection goes to the proxy"],
  ["-c <ciphers>", "it chooses by itself"],
  ["-E <file>", "redirect standard error instead"],
  ["-f", "start it in the background with & of the shell"],
  ["-g", "name the address to listen on: -L 0.0.0.0:8080:host:80"],
  ["-I <library>", "it logs in with its certificate"],
  ["-J <hosts>", "the proxy knows the way"],
  ["-K", "it logs in with its certificate"],
  ["-M", "each connection stands alone"],
  ["-m <macs>", "it chooses by itself"],
  ["-O <command>", "each connection stands alone"],
  ["-Q <query>", "ask ssh"],
  ["-V", "use: tsh version"],
  ["-W <address>", "use: tsh proxy ssh, or -L"],
  ["-w <tunnels>", "it forwards ports and sockets only"],
  ["-y", "it has no system log"],
];

/** Taken because ssh has them: what they choose is given here. */
const ignored: readonly OptionSpec[] = ["-2", "-4", "-6", "-C", "-k"].map((flags) => ({ flags, text: "", hidden: true }));

export const refusedOptions: readonly OptionSpec[] = refused.map(([flags, why]) => ({
  flags,
  text: "",
  hidden: true,
  refused: `tsh ssh has no ${flags.slice(0, 2)}: ${why}`,
}));

/** `tsh ssh`: its own options, and those of ssh for programs that run it in ssh's place. */
export function sshCommand({ login, proxy }: { readonly login: OptionSpec; readonly proxy: OptionSpec }): CommandSpec {
  return {
    name: "ssh",
    summary: "open a shell or run a command on a host",
    details:
      "Open a shell or run a command on a host, named by its name or id. The exit status is the command's own.\nWith labels instead (key=value, several with commas) the command runs on all hosts that have them, without standard input:\neach line of output behind the host's name, then who failed, and the highest exit status.\nOptions may follow the host, as for ssh: git, rsync, sshfs and ansible can run it in ssh's place (docs/ssh-in-place.md).",
    args: ["<[user@]host or label>", "[command...]"],
    options: [...shown(login), identityOption, proxy, ...ignored, ...refusedOptions],
    passThrough: true,
    optionsFollow: true,
    examples: [
      "tsh ssh root@web-1",
      "tsh ssh root@web-1 uptime -p",
      "tsh ssh -t root@web-1 top",
      "tsh ssh --parallel=20 root@env=staging,team=db uptime",
      "tsh ssh -N -L 5432:db.internal:5432 root@web-1",
      "tar c . | tsh ssh root@web-1 tar x -C /srv",
      "GIT_SSH_COMMAND='tsh ssh' git clone root@web-1:/srv/site.git",
    ],
    run: async (call) => (await import("./ssh.ts")).ssh(call),
  };
}

function shown(login: OptionSpec): readonly OptionSpec[] {
  return [
    login,
    { flags: "--parallel <number>", text: "on several hosts: on so many at a time; default 10, at most 100" },
    { flags: "--no-prefix", text: "on several hosts: lines as they come, without names" },
    { flags: "--log-dir <folder>", text: "on several hosts: keep the output of each in files there too, <name>.stdout and <name>.stderr" },
    { flags: "-t, --tty", text: "ask for a terminal for a command too (twice: even without a local one)", counted: true },
    { flags: "-T, --disable-tty", text: "ask for no terminal" },
    {
      flags: "-L, --local-forward <spec>",
      text: "[bind:]port:host:hostport: listen here, connect from the host; or paths of Unix sockets",
      multiple: true,
    },
    { flags: "-R, --remote-forward <spec>", text: "[bind:]port:host:hostport: listen on the host, connect from here", multiple: true },
    { flags: "-D, --dynamic-forward <spec>", text: "[bind:]port: listen here as a SOCKS proxy, connect from the host", multiple: true },
    { flags: "-A, --forward-agent", text: "lend the SSH agent of this machine to the host, where a role allows it" },
    { flags: "-a, --without-agent", text: "do not lend it, whatever else is given" },
    { flags: "-X, --x11", text: "open windows of the host's programs here, as clients that the X server does not trust" },
    { flags: "-Y, --x11-trusted", text: "the same as clients that may do everything on the display" },
    { flags: "-x, --without-x11", text: "no windows here, whatever else is given" },
    // Not --no-command: commander would make a negation of it.
    { flags: "-N, --forward-only", text: "run nothing: forward only, until interrupted" },
    { flags: "-n, --stdin-null", text: "read nothing from standard input" },
    { flags: "-s, --subsystem", text: "the command names a subsystem, like sftp" },
    { flags: "-e, --escape <character>", text: 'escape character of a terminal, "none" for none; default ~' },
    { flags: "-o, --option <option>", text: "keyword=value as in ssh_config; what is not supported is refused", multiple: true },
    { flags: "-F, --ssh-config <file>", text: "take such options from a file too; no file is read without it" },
    { flags: "-p, --port <port>", text: "has no effect: the proxy knows the way" },
    { flags: "-S, --control-path <path>", text: 'only "none": each connection stands alone' },
    { flags: "-G, --print-config", text: "print host, user and port, and do nothing" },
    { flags: "-q, --quiet", text: "no warnings and notes" },
    { flags: "-v, --verbose", text: "report each step on standard error", counted: true },
  ];
}
