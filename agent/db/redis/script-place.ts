import { type Command, wordAt } from "./command.ts";

/**
 * Index of the argument of a command that is a script, or a library of functions: EVAL and EVAL_RO, SCRIPT LOAD, FUNCTION LOAD and RESTORE, TFUNCTION LOAD.
 * Undefined: there is none, or the arguments before it are not known yet. Pure.
 */
export function scriptPlace(command: Command): number | undefined {
  const name = wordAt(command, 0);
  const place = name === "eval" || name === "eval_ro" ? 1 : placeBehind(name, command);
  return place !== undefined && place < command.count ? place : undefined;
}

function placeBehind(name: string, command: Command): number | undefined {
  const subcommand = wordAt(command, 1);
  if (name === "script") return subcommand === "load" ? 2 : undefined;
  if (name !== "function" && name !== "tfunction") return undefined;
  if (subcommand === "load" && command.count > 2) return command.count - 1;
  return subcommand === "restore" ? 2 : undefined;
}
