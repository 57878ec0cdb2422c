import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

/*
 * Commands for what users do: the audit log, running sessions, recordings.
 */

export const auditCommands: CommandSpec = {
  name: "audit",
  summary: "the audit log",
  commands: [
    remote({
      name: "ls",
      summary: "print audit events, the newest last",
      details:
        "Print audit events, the newest last: all that match with --from, else the newest 1000. With --follow the newest 10 and then each new one, even\nafter an outage of the auth service. docs/audit.md lists the events.",
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

export const sessionsCommands: CommandSpec = {
  name: "sessions",
  summary: "running terminal sessions",
  commands: [
    remote({
      name: "ls",
      summary: "list the running terminal sessions, newest first",
      details:
        "List the running terminal sessions on hosts and in pods, newest first: all of them if a role may list `session`. `tsh join <session>` joins one.",
      formats: ["text", "json", "yaml", "names"],
      examples: ["tctl sessions ls", "tctl sessions ls --format=json | jq -r '.[] | .user + \" \" + .server_name'"],
      run: async (call) => (await import("../sessions.ts")).listSessions(call),
    }),
  ],
};

export const recordingsCommands: CommandSpec = {
  name: "recordings",
  summary: "recordings of sessions",
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
      run: async (call) => (await import("../sessions.ts")).listRecordings(call),
    }),
  ],
};
