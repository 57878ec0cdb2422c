import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

export const sessionsCommands: CommandSpec = {
  name: "sessions",
  summary: "running terminal sessions",
  commands: [
    remote({
      name: "ls",
      summary: "list the running terminal sessions, newest first",
      details: "List the running terminal sessions, newest first: all of them if a role may list `session`. `tsh join <session>` joins one.",
      formats: ["text", "json", "yaml", "names"],
      examples: ["tctl sessions ls", "tctl sessions ls --format=json | jq -r '.[] | .user + \" \" + .server_name'"],
      run: async (call) => (await import("../sessions.ts")).listSessions(call),
    }),
  ],
};
