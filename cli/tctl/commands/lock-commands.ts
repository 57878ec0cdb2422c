import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

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
