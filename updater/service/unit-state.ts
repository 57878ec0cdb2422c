/** The unit of the agent from `systemctl show`. */
export interface UnitState {
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  /** 0 for none. */
  readonly mainPid: number;
  /** Restarts by systemd itself since the unit was started manually. */
  readonly restarts: number;
}

export const shownProperties = "ActiveState,SubState,UnitFileState,MainPID,NRestarts";

/** `Name=value` lines. NRestarts is missing before systemd 235. */
export function parseUnitState(text: string): UnitState {
  const found = new Map(
    text.split("\n").flatMap((line): [string, string][] => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()]];
    }),
  );
  return {
    activeState: found.get("ActiveState") ?? "inactive",
    subState: found.get("SubState") ?? "dead",
    unitFileState: found.get("UnitFileState") ?? "",
    mainPid: Number(found.get("MainPID")) || 0,
    restarts: Number(found.get("NRestarts")) || 0,
  };
}

export function isActive({ activeState }: UnitState): boolean {
  return activeState === "active" || activeState === "reloading" || activeState === "activating" || activeState === "refreshing";
}
