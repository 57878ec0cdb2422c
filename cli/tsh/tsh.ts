import type { CommandSpec, OptionSpec, ProgramSpec } from "../command.ts";
import { completionCommand } from "../completion-command.ts";
import { hostFilterOptions } from "../host-filter.ts";
import { identityOption } from "../identity-option.ts";
import type { CliIo } from "../io.ts";
import { runProgram } from "../run-program.ts";
import { versionCommand } from "../version-command.ts";
import { sessionCommands } from "./session-commands.ts";

const proxy: OptionSpec = { flags: "--proxy <address>", text: "proxy to use, host[:port]; default: TSH_PROXY, then the current profile" };
const login: OptionSpec = { flags: "-l, --login <login>", text: "Unix user on the host" };

/** The commands of tsh. Handlers are loaded when they run: `tsh ssh` must start quickly. */
const commands: readonly CommandSpec[] = [
  {
    name: "login",
    summary: "log in to a cluster",
    details:
      "Log in with password and one-time code: asked on the terminal, or taken as two lines of standard input.\nKeys and certificates go to ~/.tsh (TSH_HOME).",
    options: [
      { flags: "--proxy <address>", text: "web address of the proxy, host[:port]; port 3080 when none is given (or TSH_PROXY)" },
      { flags: "--user <name>", text: "user name (or TSH_USER)" },
      { flags: "--ttl <duration>", text: "wanted validity, like 8h; the roles may allow less" },
      { flags: "--ca-pin <pin>", text: "sha256:… of the cluster's authority, as tctl status prints it; may be repeated", multiple: true },
      { flags: "--insecure", text: "trust whatever answers: for tests only" },
      { flags: "--skip-version-check", text: "log in although this tsh is too old for the cluster" },
    ],
    formats: ["text", "json", "yaml"],
    examples: [
      "tsh login --proxy=example.com:443 --user=alice",
      "tsh login --proxy=example.com --user=alice --ca-pin=sha256:9d2c… --ttl=2h",
      'printf \'%s\\n%s\\n\' "$PASSWORD" "$CODE" | tsh login --proxy=example.com --user=robot',
    ],
    run: async (call) => (await import("./login.ts")).login(call),
  },
  {
    name: "logout",
    summary: "delete keys and certificates of this user",
    options: [{ flags: "--proxy <address>", text: "only of this proxy; default: all" }],
    run: async (call) => (await import("./logout.ts")).logout(call),
  },
  {
    name: "status",
    summary: "show who is logged in where, and until when",
    details: "Show who is logged in where, and until when. Exit status 3 when nobody is, or when the login is over.",
    formats: ["text", "json", "yaml"],
    examples: ["tsh status -f json | jq -r '.active.roles[]'"],
    run: async (call) => (await import("./status.ts")).status(call),
  },
  {
    name: "ls",
    summary: "list the hosts that you may reach",
    details:
      "List the hosts that you may reach: all, or those with these labels (key=value, several with commas) and words in name, id or labels.\nThe language of --query is in docs/hosts.md.",
    args: ["[label or word...]"],
    options: [{ flags: "-v, --verbose", text: "show ids and whole labels" }, ...hostFilterOptions, identityOption, proxy],
    formats: ["text", "json", "yaml", "names"],
    examples: [
      "tsh ls",
      "tsh ls env=prod,team=db",
      "tsh ls web",
      'tsh ls --query=\'labels["env"] == "prod" || hasPrefix(name, "db-")\' --format=names',
    ],
    run: async (call) => (await import("./ls.ts")).ls(call),
  },
  {
    name: "ssh",
    summary: "open a shell or run a command on a host",
    details:
      "Open a shell or run a command on a host, named by its name or id. The exit status is the command's own.\nWith labels instead (key=value, several with commas) the command runs on all hosts that have them, without standard input:\neach line of output behind the host's name, then who failed, and the highest exit status.",
    args: ["<[user@]host or label>", "[command...]"],
    options: [
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
      { flags: "-X, --x11", text: "open windows of the host's programs here, as clients that the X server does not trust" },
      { flags: "-Y, --x11-trusted", text: "the same as clients that may do everything on the display" },
      { flags: "-N, --no-command", text: "run nothing: forward only, until interrupted" },
      identityOption,
      proxy,
    ],
    passThrough: true,
    examples: [
      "tsh ssh root@web-1",
      "tsh ssh root@web-1 uptime -p",
      "tsh ssh -t root@web-1 top",
      "tsh ssh --parallel=20 root@env=staging,team=db uptime",
      "tsh ssh -N -L 5432:db.internal:5432 root@web-1",
      "tar c . | tsh ssh root@web-1 tar x -C /srv",
    ],
    run: async (call) => (await import("./ssh.ts")).ssh(call),
  },
  {
    name: "scp",
    summary: "copy files to and from a host",
    details:
      "Copy files to a host or from it, over SFTP. What is there already of a large file is proven to be the same and not sent again, so that\nthe same command continues a copy that was cut off. A file that is there is written in place, as scp does.",
    args: ["<source...>"],
    options: [
      { flags: "-r, --recursive", text: "folders, with all that is in them; links are followed" },
      { flags: "-p, --preserve", text: "keep times and modes" },
      { flags: "-q, --quiet", text: "no progress, even on a terminal" },
      { flags: "-P, --port <port>", text: "has no effect, for scripts written for scp: the proxy knows the way" },
      identityOption,
      proxy,
    ],
    examples: ["tsh scp build.tar root@web-1:/srv/", "tsh scp -rp root@web-1:/etc/nginx .", "tsh scp 'web-1:/var/log/*.log' logs/"],
    run: async (call) => (await import("./scp.ts")).scp(call),
  },
  ...sessionCommands(proxy),
  {
    name: "proxy",
    summary: "let other programs reach resources",
    commands: [
      {
        name: "ssh",
        summary: "connect standard input and output to a host's SSH service",
        details: "Connect standard input and output to a host's SSH service: what ProxyCommand of a stock ssh runs (see tsh config).",
        args: ["<[user@]host[:port]>"],
        options: [login, { flags: "--cluster <name>", text: "cut this cluster's name off the end of the host's name" }, identityOption, proxy],
        examples: ["ssh -o ProxyCommand='tsh proxy ssh %r@%h:%p' root@web-1"],
        run: async (call) => (await import("./proxy-ssh.ts")).proxySsh(call),
      },
    ],
  },
  {
    name: "config",
    summary: "print a stanza for ssh_config",
    details: "Print a stanza for ssh_config: with it a stock ssh, scp or sftp reaches <host>.<cluster>.",
    options: [proxy],
    formats: ["text", "json", "yaml"],
    examples: ["tsh config >> ~/.ssh/config", "ssh root@web-1.example.com"],
    run: async (call) => (await import("./config.ts")).config(call),
  },
  {
    name: "doctor",
    summary: "say where a connection stops, and what to do",
    details:
      "Look at the way to the proxy step by step: which HTTP proxy and why, name, connection, TLS, certificate, version, clock, login;\nwith a host, whether its agent answers. The exit status is that of what failed.",
    args: ["[[user@]host]"],
    options: [
      { flags: "--ca-pin <pin>", text: "sha256:… of the cluster's authority, before the first login; may be repeated", multiple: true },
      proxy,
    ],
    formats: ["text", "json", "yaml"],
    examples: ["tsh doctor --proxy=example.com:443", "tsh doctor root@web-1", "tsh doctor -f json | jq -r .stops_at"],
    run: async (call) => (await import("./doctor.ts")).doctor(call),
  },
  versionCommand("tsh"),
  completionCommand(() => tsh),
];

export const tsh: ProgramSpec = { name: "tsh", summary: "Reach the hosts of a cluster.", options: [identityOption, proxy], commands };

/** The `tsh` program: its exit status. */
export async function runTsh(argv: readonly string[], io: CliIo): Promise<number> {
  return await runProgram(tsh, argv, io);
}
