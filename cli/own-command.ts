import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { CliIo } from "./io.ts";

/**
 * Words that start `name` (tsh, tctl) again from any folder. The executable decides by the name it is called by, so the link itself
 * is wanted and not its target: argv[0] as typed, looked up in PATH when it holds no slash.
 */
export function ownCommand(name: string, io: Pick<CliIo, "env" | "program">): readonly string[] {
  if (io.program !== undefined) return io.program;
  const typed = process.argv0;
  const called = typed.includes("/") ? resolve(typed) : inPath(typed, io.env.PATH ?? "");
  if (called?.endsWith(`/${name}`)) return [called];
  const beside = join(resolve(process.execPath, ".."), name);
  return [runnable(beside) ? beside : (inPath(name, io.env.PATH ?? "") ?? name)];
}

function inPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(runnable);
}

function runnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
