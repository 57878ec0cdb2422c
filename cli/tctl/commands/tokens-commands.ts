import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

export const tokensCommands: CommandSpec = {
  name: "tokens",
  summary: "add, list and remove join tokens",
  commands: [
    remote({
      name: "add",
      summary: "make a join token",
      options: [
        { flags: "--type <types>", text: "roles that may join with it: node, proxy, or both separated by a comma", required: true, multiple: true },
        { flags: "--ttl <duration>", text: "validity; default 30m" },
        { flags: "--uses <number>", text: "number of hosts that may join with it; default: any number" },
        { flags: "--value <source>", text: "your own secret: - reads it from standard input, @file from a file" },
      ],
      examples: ["tctl tokens add --type=node --ttl=1h", "tctl tokens add --type=node --uses=1 --format=json | jq -r .secret"],
      run: async (call) => (await import("../tokens.ts")).addToken(call),
    }),
    remote({ name: "ls", summary: "list join tokens (never their secrets)", run: async (call) => (await import("../tokens.ts")).listTokens(call) }),
    remote({ name: "rm", summary: "remove a join token", args: ["<id>"], run: async (call) => (await import("../tokens.ts")).removeToken(call) }),
  ],
};
