import type { CommandSpec, OptionSpec } from "../../command.ts";
import { databaseFilterOptions, hostFilterOptions, kubeFilterOptions } from "../../host-filter.ts";
import { remote } from "./remote.ts";

/*
 * Commands for hosts: those that joined, their versions, and the roll-out of new ones.
 */

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

export const databasesCommands: CommandSpec = {
  name: "db",
  summary: "databases that agents offer, and their health",
  commands: [
    remote({
      name: "ls",
      summary: "list the databases that connected agents offer",
      details:
        "List the databases that connected agents offer, those of their configuration files included: all, or those with these labels (key=value,\nseparated by commas) and words in name or labels. Each agent checks its databases every half minute.",
      args: ["[label or word...]"],
      options: databaseFilterOptions,
      formats: ["text", "json", "yaml", "names"],
      examples: ["tctl db ls env=prod", "tctl db ls --query='status == \"unhealthy\"' --format=names"],
      run: async (call) => (await import("../databases.ts")).listDatabases(call),
    }),
  ],
};

export const kubeCommands: CommandSpec = {
  name: "kube",
  summary: "Kubernetes clusters that agents offer, and their health",
  commands: [
    remote({
      name: "ls",
      summary: "list the Kubernetes clusters that connected agents offer",
      details:
        "List the Kubernetes clusters that connected agents offer, those of their configuration files included: all, or those with these labels\n(key=value, separated by commas) and words in name or labels. Below stands why one is not used, for example that its agents disagree.",
      args: ["[label or word...]"],
      options: kubeFilterOptions,
      formats: ["text", "json", "yaml", "names"],
      examples: ["tctl kube ls env=prod", "tctl kube ls --format=names"],
      run: async (call) => (await import("../kube-clusters.ts")).listKubeClusters(call),
    }),
  ],
};

export const inventoryCommands: CommandSpec = {
  name: "inventory",
  summary: "the cluster's hosts and services, their versions and their updaters",
  commands: [
    remote({
      name: "ls",
      summary: "list connected instances",
      options: [
        {
          flags: "--upgrader <kind>",
          text: "only instances with this updater: none (not enrolled in automatic upgrades), unit, kube, unknown (no report yet)",
          choices: ["none", "unit", "kube", "unknown"],
        },
        {
          flags: "--services <names>",
          text: "only instances with one of these services: node, app, db, proxy, auth; separated by commas",
          multiple: true,
        },
        { flags: "--older-than <version>", text: "only older versions" },
        { flags: "--newer-than <version>", text: "only newer versions" },
        { flags: "--exact-version <version>", text: "only this version" },
        { flags: "--all", text: "also instances that are not connected" },
      ],
      examples: ["tctl inventory ls --upgrader=none", "tctl inventory ls --older-than=1.2.0 --format=json | jq -r '.[].hostname'"],
      run: async (call) => (await import("../inventory.ts")).listInventory(call),
    }),
    remote({
      name: "status",
      summary: "count versions; name hosts that are behind, failed, have no schedule, a stopped timer or no updater",
      examples: ["tctl inventory status", "tctl inventory status --format=json | jq '.failed'"],
      run: async (call) => (await import("../inventory.ts")).inventoryStatus(call),
    }),
  ],
};

const channelOption: OptionSpec = { flags: "--channel <name>", text: "only this version channel; default: all" };
export const upgradesCommands: CommandSpec = {
  name: "upgrades",
  summary: "the staged roll-out of agent versions",
  commands: [
    remote({
      name: "plan",
      summary: "show which hosts are upgraded when, which are not, and why",
      options: [channelOption, { flags: "--to <version>", text: "assume that the channel answers this version" }],
      examples: [
        "tctl upgrades plan",
        "tctl upgrades plan --to=1.2.0",
        "tctl upgrades plan --format=json | jq '.hosts[] | select(.verdict == \"stays\")'",
      ],
      run: async (call) => (await import("../upgrades.ts")).showPlan(call),
    }),
    remote({
      name: "status",
      summary: "show the progress of each version, and where it failed",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).showStatus(call),
    }),
    remote({
      name: "pause",
      summary: "release no more hosts, including later versions, until resumed",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "pause"),
    }),
    remote({
      name: "resume",
      summary: "continue after a pause or a stop",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "resume"),
    }),
    remote({
      name: "promote",
      summary: "take the next step now: end a wait, let a group follow its canaries, start the next group",
      options: [channelOption, { flags: "--group <name>", text: "release everything up to and including this group" }],
      examples: ["tctl upgrades promote", "tctl upgrades promote --group=prod"],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "promote"),
    }),
  ],
};
