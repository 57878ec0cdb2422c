import type { CommandSpec, OptionSpec } from "../../command.ts";
import { remote } from "./remote.ts";

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
