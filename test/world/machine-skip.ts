import { spawnSync } from "node:child_process";
import { hasProgram } from "./has-program.ts";

/** Why machines are impossible here, or undefined: for `skip(machinesSkip !== undefined, machinesSkip)`. */
export const machinesSkip: string | undefined = reason();

function reason(): string | undefined {
  if (process.getuid?.() !== 0) return "machines need root";
  const missing = ["systemd-nspawn", "mmdebstrap", "nsenter", "setpriv", "flock", "ip"].filter((name) => !hasProgram(name));
  if (missing.length > 0) return `machines need ${missing.join(", ")}`;
  return spawnSync("unshare", ["--mount", "--pid", "--fork", "true"]).status === 0 ? undefined : "machines need the right to mount";
}
