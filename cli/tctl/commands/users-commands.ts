import type { CommandSpec } from "../../command.ts";
import { remote } from "./remote.ts";

export const usersCommands: CommandSpec = {
  name: "users",
  summary: "add, list, change and remove users",
  commands: [
    remote({
      name: "add",
      summary: "add a user and print its one-time invite link",
      args: ["<name>"],
      options: [
        { flags: "--roles <roles>", text: "roles, separated by commas", required: true, multiple: true },
        { flags: "--logins <logins>", text: "Unix logins for {{internal.logins}} in the roles", multiple: true },
        { flags: "--ttl <duration>", text: "validity of the link; default 1h, at most 48h" },
      ],
      examples: ["tctl users add alice --roles=access,editor --logins=root,ubuntu"],
      run: async (call) => (await import("../users.ts")).addUser(call),
    }),
    remote({ name: "ls", summary: "list users", run: async (call) => (await import("../users.ts")).listUsers(call) }),
    remote({ name: "rm", summary: "remove a user", args: ["<name>"], run: async (call) => (await import("../users.ts")).removeUser(call) }),
    remote({
      name: "update",
      summary: "replace a user's roles or logins",
      args: ["<name>"],
      options: [
        { flags: "--set-roles <roles>", text: "the new roles, separated by commas", multiple: true },
        { flags: "--set-logins <logins>", text: "the new Unix logins, separated by commas", multiple: true },
      ],
      examples: ["tctl users update alice --set-roles=access,auditor"],
      run: async (call) => (await import("../users.ts")).updateUser(call),
    }),
    remote({
      name: "unlock",
      summary: "let a user log in again after too many failed attempts",
      args: ["<name>"],
      run: async (call) => (await import("../users.ts")).unlockUser(call),
    }),
    remote({
      name: "reset",
      summary: "invalidate a user's password and code, and print a new invite link",
      args: ["<name>"],
      options: [{ flags: "--ttl <duration>", text: "validity of the link; default 1h, at most 48h" }],
      run: async (call) => (await import("../users.ts")).resetUser(call),
    }),
  ],
};
