import type { CommandSpec, ProgramSpec } from "../command.ts";
import { completionCommand } from "../completion-command.ts";
import { identityOption } from "../identity-option.ts";
import type { CliIo } from "../io.ts";
import { runProgram } from "../run-program.ts";
import { versionCommand } from "../version-command.ts";
import { authCommands } from "./commands/auth-commands.ts";
import { auditCommands, backupCommand, nodesCommands, statusCommand } from "./commands/cluster-commands.ts";
import { inventoryCommands } from "./commands/inventory-commands.ts";
import { lockCommands } from "./commands/lock-commands.ts";
import { recordingsCommands } from "./commands/recordings-commands.ts";
import { proxyOption } from "./commands/remote.ts";
import { resourceCommands } from "./commands/resource-commands.ts";
import { sessionsCommands } from "./commands/sessions-commands.ts";
import { tokensCommands } from "./commands/tokens-commands.ts";
import { upgradesCommands } from "./commands/upgrades-commands.ts";
import { usersCommands } from "./commands/users-commands.ts";

/** In the order of the help text. A command's code is loaded only when it is called. */
const commands: readonly CommandSpec[] = [
  statusCommand,
  usersCommands,
  tokensCommands,
  nodesCommands,
  inventoryCommands,
  ...lockCommands,
  ...resourceCommands,
  authCommands,
  auditCommands,
  sessionsCommands,
  recordingsCommands,
  upgradesCommands,
  backupCommand,
  versionCommand("tctl"),
  completionCommand(() => tctl),
];

export const tctl: ProgramSpec = { name: "tctl", summary: "Administer a cluster.", options: [identityOption, proxyOption], commands };

/** Runs the `tctl` program; returns its exit status. */
export async function runTctl(argv: readonly string[], io: CliIo): Promise<number> {
  return await runProgram(tctl, argv, io);
}
