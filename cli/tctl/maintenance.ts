import type { Maintenance } from "../../core/resources/maintenance.ts";
import { renderTable } from "../table.ts";

/** The upgrade window of agents, as `tctl get cluster_maintenance_config --format=text` shows it. */
export function maintenanceTable(documents: readonly Maintenance[]): string {
  const rows = documents.map(({ spec }) => {
    const { utc_start_hour: hour, weekdays } = spec.agent_upgrades;
    const clock = (value: number): string => `${String(value % 24).padStart(2, "0")}:00`;
    return [`${clock(hour)}-${clock(hour + 1)} UTC`, weekdays?.join(",") ?? "every day"];
  });
  return renderTable(["Window", "Weekdays"], rows);
}
