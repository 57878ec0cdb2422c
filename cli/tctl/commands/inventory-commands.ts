import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

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
          text: "only instances with this updater: none (not enrolled in automatic upgrades), unit, kube",
          choices: ["none", "unit", "kube"],
        },
        {
          flags: "--services <names>",
          text: "only instances with one of these services: node, app, proxy, auth; separated by commas",
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
