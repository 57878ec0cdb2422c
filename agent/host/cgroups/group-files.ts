import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../../core/processes/is-alive.ts";

/** Returns whether it is new. Not mkdir's own `recursive`, which loops forever where the kernel returns ENOENT. */
export function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw thrown;
  }
}

/** Groups of sessions whose process has ended. */
export function sweep(sessions: string): void {
  for (const uid of foldersIn(sessions)) {
    for (const name of foldersIn(join(sessions, uid))) {
      const maker = Number(/^(\d+)-/.exec(name)?.[1]);
      if (maker === process.pid || !isAlive(maker)) remove(join(sessions, uid, name));
    }
    rmdirQuietly(join(sessions, uid));
  }
}

/** Removes a group, and its user's if it was the last; not while something runs in it. Returns whether it is gone. */
export function remove(folder: string): boolean {
  if (!rmdirQuietly(folder)) return false;
  rmdirQuietly(join(folder, ".."));
  return true;
}

function rmdirQuietly(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/** Kernel files: a missing one is not created. */
export function limit(folder: string, file: string, value: number): void {
  try {
    writeFileSync(join(folder, file), String(value), { flag: "r+" });
  } catch {
    // This host does not allow limits there.
  }
}

/** A value that an admin has set since stays. */
export function limitOnce(folder: string, file: string, value: number): void {
  if (textOf(join(folder, file)).trim() === "max") limit(folder, file, value);
}

export function isLimited(folder: string): boolean {
  return /^\d+\s*$/.test(textOf(join(folder, "pids.max")));
}

export function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
