import type { CommandSpec, ProgramSpec } from "../command.ts";
import type { CliIo } from "../io.ts";
import { runProgram } from "../run-program.ts";
import { completionCommand, identityOption, versionCommand } from "../shared-commands.ts";
import { authCommands, backupCommand, statusCommand } from "./commands/cluster-commands.ts";
import { databasesCommands, inventoryCommands, kubeCommands, nodesCommands, upgradesCommands } from "./commands/host-commands.ts";
import { proxyOption } from "./commands/remote.ts";
import { accessCommands, lockCommands, resourceCommands, tokensCommands, usersCommands } from "./commands/resource-commands.ts";
import { auditCommands, recordingsCommands, sessionsCommands } from "./commands/session-commands.ts";

/** In the order of the help text. A command's code is loaded only when it is called. */
const commands: readonly CommandSpec[] = [
  statusCommand,
  usersCommands,
  tokensCommands,
  nodesCommands,
  databasesCommands,
  kubeCommands,
  inventoryCommands,
  accessCommands,
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
