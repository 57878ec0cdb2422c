import type { CommandSpec, OptionSpec } from "../command.ts";
import { identityOption } from "../shared-commands.ts";

/** Options of ssh that tsh lacks: refused by name, so that nothing is silently ignored. */
const refused: readonly (readonly [flags: string, why: string])[] = [
  ["-1", "it speaks SSH 2 only"],
  ["-B <interface>", "the connection goes to the proxy"],
  ["-b <address>", "the connection goes to the proxy"],
  ["-c <ciphers>", "it chooses the ciphers itself"],
  ["-E <file>", "redirect standard error instead"],
  ["-f", "start it in the background with & of the shell"],
  ["-g", "give the address to listen on: -L 0.0.0.0:8080:host:80"],
  ["-I <library>", "it logs in with its certificate"],
  ["-J <hosts>", "the proxy finds the host"],
  ["-K", "it logs in with its certificate"],
  ["-M", "each connection is independent"],
  ["-m <macs>", "it chooses the MACs itself"],
  ["-O <command>", "each connection is independent"],
  ["-Q <query>", "ask ssh"],
  ["-V", "use: tsh version"],
  ["-W <address>", "use: tsh proxy ssh, or -L"],
  ["-w <tunnels>", "it forwards ports and sockets only"],
  ["-y", "it does not use the system log"],
];

/** Accepted for ssh's sake, without effect. */
const ignored: readonly OptionSpec[] = ["-2", "-4", "-6", "-C", "-k"].map((flags) => ({ flags, text: "", hidden: true }));

export const refusedOptions: readonly OptionSpec[] = refused.map(([flags, why]) => ({
  flags,
  text: "",
  hidden: true,
  refused: `tsh ssh has no ${flags.slice(0, 2)}: ${why}`,
}));

/** `tsh ssh`: its own options, and those of ssh for programs that run it instead of ssh. */
export function sshCommand({ login, proxy }: { readonly login: OptionSpec; readonly proxy: OptionSpec }): CommandSpec {
  return {
    name: "ssh",
    summary: "open a shell or run a command on a host",
    details:
      "Open a shell or run a command on a host, named by its name or id. The exit status is the command's own.\nWith labels instead (key=value, separated by commas) the command runs on all hosts that have them, without standard input:\neach line of output follows the host's name; at the end come the failed hosts, and the highest exit status.\nOptions may follow the host, as for ssh: git, rsync, sshfs and ansible can run it instead of ssh (docs/ssh-in-place.md).",
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
    { flags: "--parallel <number>", text: "on several hosts: number of hosts at a time; default 10, at most 100" },
    { flags: "--no-prefix", text: "on several hosts: print lines without the host's name" },
    { flags: "--log-dir <folder>", text: "on several hosts: also save the output of each in files there, <name>.stdout and <name>.stderr" },
    { flags: "-t, --tty", text: "request a terminal for a command too (twice: even without a local one)", counted: true },
    { flags: "-T, --disable-tty", text: "do not request a terminal" },
    {
      flags: "-L, --local-forward <spec>",
      text: "[bind:]port:host:hostport: listen here, connect from the host; or paths of Unix sockets",
      multiple: true,
    },
    { flags: "-R, --remote-forward <spec>", text: "[bind:]port:host:hostport: listen on the host, connect from here", multiple: true },
    { flags: "-D, --dynamic-forward <spec>", text: "[bind:]port: listen here as a SOCKS proxy, connect from the host", multiple: true },
    { flags: "-A, --forward-agent", text: "forward this machine's SSH agent to the host, if a role allows it" },
    { flags: "-a, --without-agent", text: "do not forward it, regardless of other options" },
    { flags: "-X, --x11", text: "forward X11: show windows of the host's programs here, as untrusted X clients" },
    { flags: "-Y, --x11-trusted", text: "the same as trusted X clients, which may do everything on the display" },
    { flags: "-x, --without-x11", text: "do not forward X11, regardless of other options" },
    // Not --no-command: commander would treat it as a negation.
    { flags: "-N, --forward-only", text: "run nothing: forward only, until interrupted" },
    { flags: "-n, --stdin-null", text: "read nothing from standard input" },
    { flags: "-s, --subsystem", text: "the command names a subsystem, like sftp" },
    { flags: "-e, --escape <character>", text: 'escape character of a terminal, "none" for none; default ~' },
    { flags: "-o, --option <option>", text: "keyword=value as in ssh_config; unsupported keywords are refused", multiple: true },
    { flags: "-F, --ssh-config <file>", text: "read such options from a file too; by default no file is read" },
    { flags: "-p, --port <port>", text: "has no effect: the proxy finds the host" },
    { flags: "-S, --control-path <path>", text: 'only "none": each connection is independent' },
    { flags: "-G, --print-config", text: "print host, user and port, and do nothing" },
    { flags: "-q, --quiet", text: "no warnings and notes" },
    { flags: "-v, --verbose", text: "report each step on standard error", counted: true },
  ];
}
