import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";

/** The running executable, and the path where a package manager replaces it. */
export interface Executables {
  readonly running: string;
  readonly onDisk: string;
}

/** Time limit of its answer, ms. */
const limitMs = 5000;
/** By inode: each executable is queried once. */
const known = new Map<number, Promise<string | undefined>>();

/** A sentence about the version that replaced the running executable on the disk; undefined: none, or it does not answer. */
export async function replacedWarning(version: string, { running, onDisk }: Executables): Promise<string | undefined> {
  try {
    const [own, found] = await Promise.all([stat(running), stat(onDisk)]);
    if (own.dev === found.dev && own.ino === found.ino) return undefined;
    const asked = known.get(found.ino) ?? versionOf(onDisk);
    known.clear();
    known.set(found.ino, asked);
    const installed = await asked;
    return installed === undefined || installed === version
      ? undefined
      : `${installed} is installed here, and ${version} runs: systemctl reload platform`;
  } catch {
    return undefined;
  }
}

function versionOf(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ["version"], { timeout: limitMs, killSignal: "SIGKILL", maxBuffer: 4096, env: {} }, (error, stdout) =>
      resolve(error === null ? /^platform (\d[0-9A-Za-z.+-]{0,63})$/m.exec(stdout)?.[1] : undefined),
    );
  });
}
