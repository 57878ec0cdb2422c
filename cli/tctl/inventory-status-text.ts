import { renderTable } from "../table.ts";
import type { HostLine, InventorySummary } from "./summarize-inventory.ts";

/** Number of hosts shown of each kind; JSON has them all. */
const maxShown = 20;
const maxDetail = 100;

/** Text for people: counts of versions, then each kind of problem. */
export function inventoryStatusText(summary: InventorySummary): string {
  const { total, connected, versions, upgraders } = summary;
  const parts = [
    `${total} instances, ${connected} connected`,
    countsText("Version", versions),
    countsText("Upgrader", upgraders),
    ...section("Version incompatible with the cluster", summary.unfit, ["Version", "Detail"]),
    ...section("Behind", summary.behind, ["Version", "Wanted", "Reason", "Detail"]),
    ...section("Newer than wanted", summary.ahead, ["Version", "Wanted", "Reason", "Detail"]),
    ...section("Failed", summary.failed, ["Version", "Reason", "At", "Detail"]),
    ...section("Without a schedule", summary.no_schedule, ["Version", "Detail"]),
    ...section("Timer off", summary.timer_off, ["Version", "Detail"]),
    ...section("Not enrolled in automatic upgrades", summary.not_enrolled, ["Version"]),
    ...section("Without a requested name", summary.refused_names, ["Detail"]),
    ...section("Not connected to every proxy", summary.partly_connected, ["Version", "Detail"]),
    ...section("Not connected", summary.gone, ["Version", "At"]),
  ];
  if (isFine(summary)) parts.push("Every host is connected, enrolled, and at the version of its channel.");
  return parts.join("\n\n");
}

function isFine({ total: _total, connected: _connected, versions: _versions, upgraders: _upgraders, ...troubles }: InventorySummary): boolean {
  return Object.values(troubles).every((hosts) => hosts.length === 0);
}

function countsText(title: string, counts: Readonly<Record<string, number>>): string {
  return renderTable(
    [title, "Instances"],
    Object.entries(counts).map(([name, count]) => [name, String(count)]),
  );
}

const cells = {
  Version: (host: HostLine) => host.version,
  Wanted: (host: HostLine) => host.wanted ?? "",
  Reason: (host: HostLine) => host.reason ?? "",
  At: (host: HostLine) => host.at ?? "",
  Detail: (host: HostLine) => host.detail ?? "",
} as const;

function section(title: string, hosts: readonly HostLine[], columns: readonly (keyof typeof cells)[]): string[] {
  if (hosts.length === 0) return [];
  const rows = hosts.slice(0, maxShown).map((host) => [host.hostname, host.server_id, ...columns.map((column) => cells[column](host))]);
  const more = hosts.length > maxShown ? `\n… and ${hosts.length - maxShown} more: --format=json has them all` : "";
  return [`${title}: ${hosts.length}\n${renderTable(["Hostname", "Server ID", ...columns], rows, maxDetail)}${more}`];
}
