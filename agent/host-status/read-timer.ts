import { execFile } from "node:child_process";
import { access } from "node:fs/promises";

/** State of the updater's timer; `no_systemd`: there is no systemd to ask; `unknown`: it did not answer. */
export type TimerState = "on" | "stopped" | "disabled" | "not_installed" | "no_systemd" | "unknown";

const timer = "platform-upgrade.timer";
const askMs = 5_000;

/** The answer of `systemctl show -p LoadState,ActiveState,UnitFileState`. Pure. */
export function timerState(answer: string): TimerState {
  const facts = new Map(answer.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1).trim()] as const));
  if (facts.get("LoadState") === "not-found") return "not_installed";
  const [active, enabled] = [facts.get("ActiveState"), facts.get("UnitFileState")];
  if (active === undefined || enabled === undefined) return "unknown";
  if (enabled === "disabled" || enabled === "masked" || enabled === "masked-runtime") return "disabled";
  return active === "active" || active === "activating" || active === "reloading" ? "on" : "stopped";
}

/** Asks systemd, for a few seconds at most. */
export async function readTimer(): Promise<TimerState> {
  try {
    await access("/run/systemd/system");
  } catch {
    return "no_systemd";
  }
  return await new Promise((resolve) => {
    const args = ["show", "-p", "LoadState,ActiveState,UnitFileState", timer];
    execFile(
      "systemctl",
      args,
      { timeout: askMs, killSignal: "SIGKILL", maxBuffer: 4096, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } },
      (error, stdout) => resolve(error === null ? timerState(stdout) : "unknown"),
    );
  });
}
