import { recordingFormats } from "../../core/recording/formats.ts";
import type { CommandSpec, OptionSpec, ProgramSpec } from "../command.ts";
import { hostFilterOptions } from "../host-filter.ts";
import type { CliIo } from "../io.ts";
import { runProgram } from "../run-program.ts";
import { completionCommand, identityOption, versionCommand } from "../shared-commands.ts";
import { appCommands, proxyAppCommand } from "./apps/app-commands.ts";
import { dbCommands, proxyDbCommand } from "./db/db-commands.ts";
import { joinCommand } from "./join-command.ts";
import { kubeCommands, proxyKubeCommand } from "./kube/kube-commands.ts";
import { sshCommand } from "./ssh-command.ts";

const proxy: OptionSpec = { flags: "--proxy <address>", text: "proxy to use, host[:port]; default: TSH_PROXY, then the current profile" };
const login: OptionSpec = { flags: "-l, --login <login>", text: "Unix user on the host" };

/** The commands of tsh. Handlers are loaded when they run: `tsh ssh` must start quickly. */
const commands: readonly CommandSpec[] = [
  {
    name: "login",
    summary: "log in to a cluster",
    details:
      "Log in with password and one-time code: prompted for on the terminal, or read as two lines of standard input.\nKeys and certificates go to ~/.tsh (TSH_HOME).",
    options: [
      { flags: "--proxy <address>", text: "web address of the proxy, host[:port]; without a port 3080, then 443 (or TSH_PROXY)" },
      { flags: "--user <name>", text: "user name (or TSH_USER)" },
      { flags: "--ttl <duration>", text: "requested validity, like 8h; the roles may allow less" },
      { flags: "--ca-pin <pin>", text: "sha256:… of the cluster's authority, as printed by tctl status; may be repeated", multiple: true },
      { flags: "--insecure", text: "trust any proxy that answers: for tests only" },
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
    options: [{ flags: "--proxy <address>", text: "only those of this proxy; default: all" }],
    run: async (call) => (await import("./logins.ts")).logout(call),
  },
  {
    name: "status",
    summary: "show who is logged in where, and until when",
    details: "Show who is logged in where, and until when. Exit status 3 when there is no login, or when it has expired.",
    formats: ["text", "json", "yaml"],
    examples: ["tsh status -f json | jq -r '.active.roles[]'"],
    run: async (call) => (await import("./logins.ts")).status(call),
  },
  {
    name: "ls",
    summary: "list the hosts that you may reach",
    details:
      "List the hosts that you may reach: all, or those with these labels (key=value, separated by commas) and words in name, id or labels.\ndocs/hosts.md describes the language of --query.",
    args: ["[label or word...]"],
    options: [{ flags: "-v, --verbose", text: "show ids and full labels" }, ...hostFilterOptions, identityOption, proxy],
    formats: ["text", "json", "yaml", "names"],
    examples: [
      "tsh ls",
      "tsh ls env=prod,team=db",
      "tsh ls web",
      'tsh ls --query=\'labels["env"] == "prod" || hasPrefix(name, "db-")\' --format=names',
    ],
    run: async (call) => (await import("./ls.ts")).ls(call),
  },
  sshCommand({ login, proxy }),
  {
    name: "scp",
    summary: "copy files to and from a host",
    details:
      "Copy files to or from a host, over SFTP. The existing part of a large file is verified and not sent again, so that\nthe same command continues an interrupted copy. An existing file is overwritten in place, as with scp.",
    args: ["<source...>"],
    options: [
      { flags: "-r, --recursive", text: "copy folders with their contents; links are followed" },
      { flags: "-p, --preserve", text: "keep times and modes" },
      { flags: "-q, --quiet", text: "no progress, even on a terminal" },
      { flags: "-P, --port <port>", text: "has no effect, for scripts written for scp: the proxy finds the host" },
      identityOption,
      proxy,
    ],
    examples: ["tsh scp build.tar root@web-1:/srv/", "tsh scp -rp root@web-1:/etc/nginx .", "tsh scp 'web-1:/var/log/*.log' logs/"],
    run: async (call) => (await import("./scp.ts")).scp(call),
  },
  ...sessionCommands(proxy),
  ...appCommands(proxy),
  ...dbCommands(proxy),
  ...kubeCommands(proxy),
  {
    name: "proxy",
    summary: "let other programs reach resources",
    commands: [
      {
        name: "ssh",
        summary: "connect standard input and output to a host's SSH service",
        details: "Connect standard input and output to a host's SSH service: for ProxyCommand of a stock ssh (see tsh config).",
        args: ["<[user@]host[:port]>"],
        options: [login, { flags: "--cluster <name>", text: "strip this cluster's name from the end of the host's name" }, identityOption, proxy],
        examples: ["ssh -o ProxyCommand='tsh proxy ssh %r@%h:%p' root@web-1"],
        run: async (call) => (await import("./proxy-ssh.ts")).proxySsh(call),
      },
      proxyAppCommand(proxy),
      proxyDbCommand(proxy),
      proxyKubeCommand(proxy),
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
    summary: "find out where a connection fails, and what to do",
    details:
      "Check the path to the proxy step by step: which HTTP proxy and why, name, connection, TLS, certificate, version, clock, login;\nwith a host, whether its agent answers; with db/<name>, whether agents offer and reach the database, your roles allow the names, and a\nclient is installed. The exit status is that of the first failure.",
    args: ["[[user@]host or db/name]"],
    options: [
      { flags: "--db-user <name>", text: "account to check at a database; default: as for tsh db connect" },
      { flags: "--db-name <name>", text: "logical database to check" },
      { flags: "--ca-pin <pin>", text: "sha256:… of the cluster's authority, before the first login; may be repeated", multiple: true },
      proxy,
    ],
    formats: ["text", "json", "yaml"],
    examples: ["tsh doctor --proxy=example.com:443", "tsh doctor root@web-1", "tsh doctor db/orders", "tsh doctor -f json | jq -r .stops_at"],
    run: async (call) => (await import("./doctor.ts")).doctor(call),
  },
  versionCommand("tsh"),
  completionCommand(() => tsh),
];

export const tsh: ProgramSpec = { name: "tsh", summary: "Reach the hosts of a cluster.", options: [identityOption, proxy], commands };

/** Runs the `tsh` program; returns its exit status. */
export async function runTsh(argv: readonly string[], io: CliIo): Promise<number> {
  return await runProgram(tsh, argv, io);
}

/** Commands for running and recorded sessions. */
function sessionCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "sessions",
      summary: "running terminal sessions",
      commands: [
        {
          name: "ls",
          summary: "list the running sessions that you may see, newest first",
          details: "List the running terminal sessions that you may see: your own, and those that a role lets you join. Newest first.",
          options: [identityOption, proxy],
          formats: ["text", "json", "yaml", "names"],
          examples: ["tsh sessions ls", "tsh sessions ls -f json | jq -r '.[].sid'"],
          run: async (call) => (await import("./sessions.ts")).listSessions(call),
        },
      ],
    },
    joinCommand("tsh join", proxy),
    {
      name: "play",
      summary: "play the recording of a session",
      details:
        "Play the recording of a session, by its id or from a file.\nKeys: space pauses, left and right go 10 s back and forward, up and down change the speed, q ends.\nIf standard output is not a terminal, everything is printed at once.",
      args: ["<session|file>"],
      options: [
        { flags: "--speed <factor>", text: "playback speed, 0.25 to 16" },
        { flags: "--from <time>", text: "start there, like 90s or 1:30" },
        {
          flags: "--format <format>",
          text: "pty plays it; asciicast and statements print these formats; text prints the lines that are shown; json and yaml the statements of a database",
          choices: ["pty", ...Object.keys(recordingFormats), "text", "json", "yaml"],
        },
        proxy,
      ],
      examples: ["tsh play 2a0e1c9e-…", "tsh play --speed=4 --from=1:30 2a0e1c9e-…", "tsh play --format=asciicast 2a0e1c9e-… > session.cast"],
      run: async (call) => (await import("./play/play.ts")).play(call),
    },
  ];
}
