import type { CommandSpec, OptionSpec, ProgramSpec } from "../command.ts";
import { completionCommand } from "../completion-command.ts";
import type { CliIo } from "../io.ts";
import type { Format } from "../output.ts";
import { runProgram } from "../run-program.ts";
import { versionCommand } from "../version-command.ts";

/** Of every command that talks to the auth service. */
const connection: readonly OptionSpec[] = [
  { flags: "-c, --config <file>", text: "configuration of this auth host; default: /etc/platform.yaml" },
  { flags: "--data-dir <folder>", text: "data folder of this auth host; default: PLATFORM_DATA_DIR, the configuration, /var/lib/platform" },
  { flags: "--proxy <address>", text: "web address of the proxy, host[:port]: which tsh login to use, and what printed links start with" },
];
const all: readonly Format[] = ["text", "json", "yaml"];
const yamlFirst: readonly Format[] = ["yaml", "json", "text"];

/** Adds what commands that talk to the auth service share. */
function remote(spec: CommandSpec): CommandSpec {
  return { ...spec, options: [...(spec.options ?? []), ...connection], formats: spec.formats ?? all };
}

const users: CommandSpec = {
  name: "users",
  summary: "add, list, change and remove users",
  commands: [
    remote({
      name: "add",
      summary: "add a user and print its one-time invite link",
      args: ["<name>"],
      options: [
        { flags: "--roles <roles>", text: "roles, separated by commas", required: true, multiple: true },
        { flags: "--logins <logins>", text: "Unix logins that {{internal.logins}} of the roles stands for", multiple: true },
        { flags: "--ttl <duration>", text: "how long the link works; default 1h, at most 48h" },
      ],
      examples: ["tctl users add alice --roles=access,editor --logins=root,ubuntu"],
      run: async (call) => (await import("./users.ts")).addUser(call),
    }),
    remote({ name: "ls", summary: "list users", run: async (call) => (await import("./users.ts")).listUsers(call) }),
    remote({ name: "rm", summary: "remove a user", args: ["<name>"], run: async (call) => (await import("./users.ts")).removeUser(call) }),
    remote({
      name: "update",
      summary: "replace a user's roles or logins",
      args: ["<name>"],
      options: [
        { flags: "--set-roles <roles>", text: "the new roles, separated by commas", multiple: true },
        { flags: "--set-logins <logins>", text: "the new Unix logins, separated by commas", multiple: true },
      ],
      examples: ["tctl users update alice --set-roles=access,auditor"],
      run: async (call) => (await import("./users.ts")).updateUser(call),
    }),
    remote({
      name: "reset",
      summary: "end a user's password and code, and print a new invite link",
      args: ["<name>"],
      options: [{ flags: "--ttl <duration>", text: "how long the link works; default 1h, at most 48h" }],
      run: async (call) => (await import("./users.ts")).resetUser(call),
    }),
  ],
};

const tokens: CommandSpec = {
  name: "tokens",
  summary: "add, list and remove join tokens",
  commands: [
    remote({
      name: "add",
      summary: "make a join token",
      options: [
        { flags: "--type <types>", text: "what may join with it: node, proxy, or both separated by a comma", required: true, multiple: true },
        { flags: "--ttl <duration>", text: "how long it is valid; default 30m" },
        { flags: "--uses <number>", text: "how many hosts may join with it; default: any number" },
        { flags: "--value <source>", text: "a secret of your own: - reads it from standard input, @file from a file" },
      ],
      examples: ["tctl tokens add --type=node --ttl=1h", "tctl tokens add --type=node --uses=1 --format=json | jq -r .secret"],
      run: async (call) => (await import("./tokens.ts")).addToken(call),
    }),
    remote({ name: "ls", summary: "list join tokens (never their secrets)", run: async (call) => (await import("./tokens.ts")).listTokens(call) }),
    remote({ name: "rm", summary: "remove a join token", args: ["<id>"], run: async (call) => (await import("./tokens.ts")).removeToken(call) }),
  ],
};

const commands: readonly CommandSpec[] = [
  remote({
    name: "status",
    summary: "show the cluster, its version and its CA pin",
    examples: ["tctl status", "tctl status --format=json | jq -r '.ca_pins[0]'"],
    run: async (call) => (await import("./status.ts")).status(call),
  }),
  users,
  tokens,
  {
    name: "nodes",
    summary: "list and remove hosts",
    commands: [
      remote({ name: "ls", summary: "list hosts that have joined", run: async (call) => (await import("./nodes.ts")).listNodes(call) }),
      remote({
        name: "rm",
        summary: "remove a host: its access ends at once",
        args: ["<id>"],
        run: async (call) => (await import("./nodes.ts")).removeNode(call),
      }),
    ],
  },
  remote({
    name: "get",
    summary: "print resources: all of a kind, or one",
    details: "Print resources: all of a kind (role, user, token, node), or one. JSON is a list for a kind and the document itself for kind/name.",
    args: ["<kind[/name]>"],
    formats: yamlFirst,
    examples: ["tctl get role/access > access.yaml", "tctl get node --format=json"],
    run: async (call) => (await import("./resources.ts")).getResources(call),
  }),
  remote({
    name: "create",
    summary: "create resources from a file",
    details: "Create resources from a YAML file with one or more documents, or from standard input (-). All are checked before the first is sent.",
    args: ["[file]"],
    options: [{ flags: "-f, --force", text: "overwrite those that exist" }],
    longFormatOnly: true,
    examples: ["tctl create role.yaml", "tctl get role/access | sed s/old/new/ | tctl create -f -"],
    run: async (call) => (await import("./resources.ts")).createResources(call),
  }),
  remote({
    name: "rm",
    summary: "remove a resource",
    args: ["<kind/name>"],
    examples: ["tctl rm role/contractor"],
    run: async (call) => (await import("./resources.ts")).removeResource(call),
  }),
  {
    name: "auth",
    summary: "the cluster's authorities",
    commands: [
      remote({
        name: "export",
        summary: "print public keys of an authority",
        details:
          "Print public keys of an authority.\n  host      lines for known_hosts (@cert-authority)\n  user      lines for TrustedUserCAKeys of sshd\n  tls-host, tls-user   PEM certificates",
        options: [
          { flags: "--type <type>", text: "which authority, in which form", choices: ["host", "user", "tls-host", "tls-user"], required: true },
          { flags: "--hosts <patterns>", text: "names that the line is for; default *.<cluster>", multiple: true },
        ],
        examples: ["tctl auth export --type=host >> ~/.ssh/known_hosts", "tctl auth export --type=user > /etc/ssh/user_ca.pub"],
        run: async (call) => (await import("./auth-export.ts")).exportAuthority(call),
      }),
    ],
  },
  {
    name: "audit",
    summary: "the audit log",
    commands: [
      remote({
        name: "ls",
        summary: "print audit events, the newest last",
        options: [
          { flags: "--from <time>", text: "not before: RFC 3339, a date, or a duration before now (2h)" },
          { flags: "--to <time>", text: "before this time" },
          { flags: "--event <names>", text: "only these events, separated by commas", multiple: true },
          { flags: "--user <name>", text: "only of this user" },
          { flags: "--limit <number>", text: "the newest so many; default 1000" },
        ],
        examples: ["tctl audit ls --from=24h --event=user.login", "tctl audit ls --format=json | jq 'select(.success == false)'"],
        run: async (call) => (await import("./audit.ts")).listAudit(call),
      }),
    ],
  },
  versionCommand("tctl"),
  completionCommand(() => tctl),
];

export const tctl: ProgramSpec = { name: "tctl", summary: "Administer a cluster.", commands };

/** The `tctl` program: its exit status. */
export async function runTctl(argv: readonly string[], io: CliIo): Promise<number> {
  return await runProgram(tctl, argv, io);
}
