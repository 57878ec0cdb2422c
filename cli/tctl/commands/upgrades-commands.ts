import type { CommandSpec, OptionSpec } from "../../command.ts";
import { remote } from "./remote.ts";

const channelOption: OptionSpec = { flags: "--channel <name>", text: "only this version channel; default: every one" };
export const upgradesCommands: CommandSpec = {
  name: "upgrades",
  summary: "the staged roll-out of agent versions",
  commands: [
    remote({
      name: "plan",
      summary: "show which hosts go when, which do not, and why",
      options: [channelOption, { flags: "--to <version>", text: "as if the channel answered this version" }],
      examples: [
        "tctl upgrades plan",
        "tctl upgrades plan --to=1.2.0",
        "tctl upgrades plan --format=json | jq '.hosts[] | select(.verdict == \"stays\")'",
      ],
      run: async (call) => (await import("../upgrades.ts")).showPlan(call),
    }),
    remote({
      name: "status",
      summary: "show how far each version has come, and where it failed",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).showStatus(call),
    }),
    remote({
      name: "pause",
      summary: "release no more hosts, also of later versions, until resumed",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "pause"),
    }),
    remote({
      name: "resume",
      summary: "go on after a pause or a stop",
      options: [channelOption],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "resume"),
    }),
    remote({
      name: "promote",
      summary: "take the next step now: end a wait, let a group follow its canaries, begin the next group",
      options: [channelOption, { flags: "--group <name>", text: "release everything up to and with this group" }],
      examples: ["tctl upgrades promote", "tctl upgrades promote --group=prod"],
      run: async (call) => (await import("../upgrades.ts")).changeRollout(call, "promote"),
    }),
  ],
};
