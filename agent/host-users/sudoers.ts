import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { runTool } from "./run-tool.ts";

const folder = "/etc/sudoers.d";
const prefix = "platform-";

/** sudo(8) skips files with a dot in their name: a dot in a login is escaped, and an unfinished file has one. */
const nameOf = (login: string): string => `${prefix}${login.replaceAll(".", "%")}`;

/** The file as a whole. A line may not end early or go on: sudoersText ensures it. */
export function sudoersFile(login: string, lines: readonly string[]): string {
  return `# Created by platform for the sessions of ${login}; removed with the last one.\n${lines.map((line) => `${login} ${line}\n`).join("")}`;
}

/** Writes the user's rights for sudo(8): all of them, once visudo(8) has accepted them, or none. Throws PlatformError. */
export async function writeSudoers(login: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return await removeSudoers(login);
  const path = `${folder}/${nameOf(login)}`;
  const fresh = `${path}.new`;
  await mkdir(folder, { recursive: true, mode: 0o750 });
  await rm(fresh, { force: true });
  try {
    const file = await open(fresh, "wx", 0o440);
    try {
      await file.writeFile(sudoersFile(login, lines));
      await file.sync();
    } finally {
      await file.close();
    }
    await runTool("visudo", ["-c", "-q", "-f", fresh]);
    await rename(fresh, path);
  } catch (cause) {
    await rm(fresh, { force: true });
    await removeSudoers(login);
    const why = cause instanceof PlatformError ? cause.message : "could not write the file";
    throw new PlatformError("denied", `could not apply host_sudoers from your roles: ${why}`, { cause });
  }
}

export async function removeSudoers(login: string): Promise<void> {
  await rm(`${folder}/${nameOf(login)}`, { force: true });
}

/** Logins with such a file, finished or not. */
export async function sudoersLogins(): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) =>
      name
        .slice(prefix.length)
        .replace(/\.new$/, "")
        .replaceAll("%", "."),
    );
}
