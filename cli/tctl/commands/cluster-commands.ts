import type { CommandSpec } from "../../command.ts";
import { hostFilterOptions } from "../../host-filter.ts";
import { hostOptions, remote } from "./remote.ts";

/** Commands for the cluster as a whole. */
export const statusCommand: CommandSpec = remote({
  name: "status",
  summary: "show the cluster, its version and its CA pin",
  examples: ["tctl status", "tctl status --format=json | jq -r '.ca_pins[0]'"],
  run: async (call) => (await import("../status.ts")).status(call),
});

export const backupCommand: CommandSpec = {
  name: "backup",
  summary: "write everything that is needed to restore this auth host elsewhere into one file",
  details:
    "Write configuration, keys, users, roles, hosts and audit log of this auth host into one archive, even while it serves; recordings are left\nout. The file appears when it is complete on the disk, is readable by its owner only, and never replaces another. docs/operations.md explains how to restore it.",
  args: ["<file>"],
  options: hostOptions,
  formats: ["text", "json", "yaml"],
  examples: ["tctl backup /root/platform-$(date +%F).tar.gz"],
  run: async (call) => (await import("../backup/backup.ts")).backup(call),
};

export const nodesCommands: CommandSpec = {
  name: "nodes",
  summary: "list and remove hosts",
  commands: [
    remote({
      name: "ls",
      summary: "list hosts that have joined",
      details: "List hosts that have joined: all, or those with these labels (key=value, separated by commas) and words in name, id or labels.",
      args: ["[label or word...]"],
      options: hostFilterOptions,
      formats: ["text", "json", "yaml", "names"],
      examples: ["tctl nodes ls env=prod", 'tctl nodes ls --query=\'status == "offline" && labels["env"] == "prod"\' --format=names'],
      run: async (call) => (await import("../nodes.ts")).listNodes(call),
    }),
    remote({
      name: "rm",
      summary: "remove a host: its access ends at once",
      args: ["<id>"],
      run: async (call) => (await import("../nodes.ts")).removeNode(call),
    }),
  ],
};

export const auditCommands: CommandSpec = {
  name: "audit",
  summary: "the audit log",
  commands: [
    remote({
      name: "ls",
      summary: "print audit events, the newest last",
      details:
        "Print audit events, the newest last: the newest 1000 that match. With --follow the newest 10 and then each new one, even\nafter an outage of the auth service. docs/audit.md lists the events.",
      options: [
        { flags: "--from <time>", text: "not before: RFC 3339, a date, or a duration before now (2h, -2h)" },
        { flags: "--to <time>", text: "before this time" },
        { flags: "--event <names>", text: "only these events, separated by commas", multiple: true },
        { flags: "--user <name>", text: "only events of this user" },
        { flags: "--limit <number>", text: "maximum number of events; default 1000, with --follow 10" },
        { flags: "--follow", text: "continue with later events until interrupted" },
      ],
      examples: [
        "tctl audit ls --from=-24h --event=user.login",
        "tctl audit ls --follow --user=alice",
        "tctl audit ls --format=json | jq 'select(.success == false)'",
      ],
      run: async (call) => (await import("../audit.ts")).listAudit(call),
    }),
  ],
};
