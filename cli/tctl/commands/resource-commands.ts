import type { CommandSpec } from "../../command.ts";
import { hostFilterOptions } from "../../host-filter.ts";
import type { Format } from "../../output.ts";
import { remote } from "./remote.ts";

/*
 * Commands for resources: users, tokens and locks by name, then those of every kind.
 */

export const usersCommands: CommandSpec = {
  name: "users",
  summary: "add, list, change and remove users",
  commands: [
    remote({
      name: "add",
      summary: "add a user and print its one-time invite link",
      args: ["<name>"],
      options: [
        { flags: "--roles <roles>", text: "roles, separated by commas", required: true, multiple: true },
        { flags: "--logins <logins>", text: "Unix logins for {{internal.logins}} in the roles", multiple: true },
        { flags: "--db-users <names>", text: "database users for {{internal.db_users}}", multiple: true },
        { flags: "--db-names <names>", text: "logical databases for {{internal.db_names}}", multiple: true },
        { flags: "--db-roles <names>", text: "roles at database servers for {{internal.db_roles}}", multiple: true },
        { flags: "--kubernetes-users <names>", text: "users at Kubernetes clusters for {{internal.kubernetes_users}}", multiple: true },
        { flags: "--kubernetes-groups <names>", text: "groups at Kubernetes clusters for {{internal.kubernetes_groups}}", multiple: true },
        { flags: "--ttl <duration>", text: "validity of the link; default 1h, at most 48h" },
      ],
      examples: ["tctl users add alice --roles=access,editor --logins=root,ubuntu"],
      run: async (call) => (await import("../users.ts")).addUser(call),
    }),
    remote({ name: "ls", summary: "list users", run: async (call) => (await import("../users.ts")).listUsers(call) }),
    remote({ name: "rm", summary: "remove a user", args: ["<name>"], run: async (call) => (await import("../users.ts")).removeUser(call) }),
    remote({
      name: "update",
      summary: "replace a user's roles, logins or names at databases",
      args: ["<name>"],
      options: [
        { flags: "--set-roles <roles>", text: "the new roles, separated by commas", multiple: true },
        { flags: "--set-logins <logins>", text: "the new Unix logins, separated by commas", multiple: true },
        { flags: "--set-db-users <names>", text: "the new database users", multiple: true },
        { flags: "--set-db-names <names>", text: "the new logical databases", multiple: true },
        { flags: "--set-db-roles <names>", text: "the new roles at database servers", multiple: true },
        { flags: "--set-kubernetes-users <names>", text: "the new users at Kubernetes clusters", multiple: true },
        { flags: "--set-kubernetes-groups <names>", text: "the new groups at Kubernetes clusters", multiple: true },
      ],
      examples: ["tctl users update alice --set-roles=access,auditor"],
      run: async (call) => (await import("../users.ts")).updateUser(call),
    }),
    remote({
      name: "unlock",
      summary: "let a user log in again after too many failed attempts",
      args: ["<name>"],
      run: async (call) => (await import("../users.ts")).unlockUser(call),
    }),
    remote({
      name: "reset",
      summary: "invalidate a user's password and code, and print a new invite link",
      args: ["<name>"],
      options: [{ flags: "--ttl <duration>", text: "validity of the link; default 1h, at most 48h" }],
      run: async (call) => (await import("../users.ts")).resetUser(call),
    }),
  ],
};

export const tokensCommands: CommandSpec = {
  name: "tokens",
  summary: "add, list and remove join tokens",
  commands: [
    remote({
      name: "add",
      summary: "make a join token",
      options: [
        {
          flags: "--type <types>",
          text: "roles that may join with it: node, proxy, app, db, kube; several separated by commas",
          required: true,
          multiple: true,
        },
        { flags: "--app-name <name>", text: "with --type=app: name of the application in the printed configuration" },
        { flags: "--app-uri <uri>", text: "its address, as the host reaches it" },
        {
          flags: "--resources <names>",
          text: "resources that these hosts may offer, as kube/prod or db/orders-*; default: any of the types given",
          multiple: true,
        },
        { flags: "--ttl <duration>", text: "validity; default 30m" },
        { flags: "--uses <number>", text: "number of hosts that may join with it; default: any number" },
        { flags: "--value <source>", text: "your own secret: - reads it from standard input, @file from a file" },
      ],
      examples: [
        "tctl tokens add --type=node --ttl=1h",
        "tctl tokens add --type=node --uses=1 --format=json | jq -r .secret",
        "tctl tokens add --type=kube --resources=kube/prod",
        "tctl tokens add --type=app --app-name=grafana --app-uri=http://localhost:3000",
      ],
      run: async (call) => (await import("../tokens.ts")).addToken(call),
    }),
    remote({ name: "ls", summary: "list join tokens (never their secrets)", run: async (call) => (await import("../tokens.ts")).listTokens(call) }),
    remote({ name: "rm", summary: "remove a join token", args: ["<id>"], run: async (call) => (await import("../tokens.ts")).removeToken(call) }),
  ],
};

export const accessCommands: CommandSpec = {
  name: "access",
  summary: "explain the access of a user",
  commands: [
    remote({
      name: "explain",
      summary: "whether a user may have an access, and why",
      details:
        "Whether a user who logs in now may reach a host, an application, a database or a Kubernetes cluster, and what each role of the user says about it: allows, denies, or nothing, with the reason. Locks count.",
      args: ["<user>", "<host or kind/name>"],
      options: [
        { flags: "--login <login>", text: "Unix user on a host; default: any" },
        { flags: "--db-user <name>", text: "account at a database; default: any" },
        { flags: "--db-name <name>", text: "logical database; default: any" },
        { flags: "--verb <verb>", text: "at a Kubernetes cluster, with --kind: get, list, exec, …" },
        { flags: "--kind <kind>", text: "kind of its objects as in a role: pod, crontabs.example.com, …" },
        { flags: "--namespace <name>", text: "namespace of the objects; default: all" },
        { flags: "--name <name>", text: "name of the object; default: all" },
        { flags: "--as <user>", text: "user there, as with kubectl" },
        { flags: "--as-group <groups>", text: "groups there, as with kubectl", multiple: true },
      ],
      examples: [
        "tctl access explain alice web-1 --login=root",
        "tctl access explain alice db/orders --db-user=reader",
        "tctl access explain alice kube/prod --verb=exec --kind=pod --namespace=shop --name=web-1",
      ],
      run: async (call) => (await import("../access.ts")).explainAccess(call),
    }),
  ],
};

export const lockCommands: readonly CommandSpec[] = [
  remote({
    name: "lock",
    summary: "shut out a user, a role, a login or a host",
    details:
      "Shut out a user, the holders of a role, a Unix login or a host: running sessions end within seconds, new ones and logins are refused. Give exactly one of the four. `tctl rm lock/<name>` lifts it.",
    options: [
      { flags: "--user <name>", text: "a user" },
      { flags: "--role <name>", text: "all users with this role" },
      { flags: "--login <login>", text: "a Unix user, on every host" },
      { flags: "--server-id <id>", text: "a host, by its id" },
      { flags: "--message <text>", text: "shown to the locked-out user" },
      { flags: "--ttl <duration>", text: "duration of the lock; default: until it is removed" },
      { flags: "--expires <time>", text: "end of the lock, RFC 3339" },
    ],
    examples: ['tctl lock --user=alice --message="laptop stolen"', "tctl lock --role=contractor --ttl=8h"],
    run: async (call) => (await import("../locks.ts")).addLock(call),
  }),
  {
    name: "locks",
    summary: "list locks",
    commands: [remote({ name: "ls", summary: "list the locks in force", run: async (call) => (await import("../locks.ts")).listLocks(call) })],
  },
];

const yamlFirst: readonly Format[] = ["yaml", "json", "text", "names"];

/** get, create, rm. */
export const resourceCommands: readonly CommandSpec[] = [
  remote({
    name: "get",
    summary: "print resources: all of a kind, or one",
    details:
      "Print resources: all of a kind (role, user, token, node, lock, cluster_maintenance_config, upgrade_rollout), or one. JSON is a list for a kind and the document itself for kind/name.",
    args: ["<kind[/name]>"],
    options: [...hostFilterOptions, { flags: "--with-secrets", text: "also print secrets: the kubeconfig of a kube_cluster" }],
    formats: yamlFirst,
    examples: ["tctl get role/access > access.yaml", 'tctl get nodes --query=\'labels["env"] == "prod"\' --format=json'],
    run: async (call) => (await import("../resources.ts")).getResources(call),
  }),
  remote({
    name: "create",
    summary: "create resources from a file",
    details: "Create resources from a YAML file with one or more documents, or from standard input (-). All are checked before the first is sent.",
    args: ["[file]"],
    options: [{ flags: "-f, --force", text: "overwrite existing resources" }],
    longFormatOnly: true,
    examples: ["tctl create role.yaml", "tctl get role/access | sed s/old/new/ | tctl create -f -"],
    run: async (call) => (await import("../create-resources.ts")).createResources(call),
  }),
  remote({
    name: "rm",
    summary: "remove a resource",
    args: ["<kind/name>"],
    examples: ["tctl rm role/contractor"],
    run: async (call) => (await import("../resources.ts")).removeResource(call),
  }),
];
