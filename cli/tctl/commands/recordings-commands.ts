import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

export const recordingsCommands: CommandSpec = {
  name: "recordings",
  summary: "recordings of terminal sessions",
  commands: [
    remote({
      name: "ls",
      summary: "list recordings, the newest first",
      details: "List recordings, the newest first: all of them if a role may list `session`, else your own. `tsh play <session>` plays one.",
      options: [
        { flags: "--from <time>", text: "started at this time or later: RFC 3339, a date, or a duration before now" },
        { flags: "--to <time>", text: "started before this time" },
        { flags: "--user <name>", text: "only recordings of this user" },
        { flags: "--limit <count>", text: "maximum number of recordings; default: 100" },
      ],
      examples: ["tctl recordings ls --user=alice --from=24h", "tctl recordings ls --format=json | jq -r '.[].sid'"],
      run: async (call) => (await import("../recordings.ts")).listRecordings(call),
    }),
  ],
};
