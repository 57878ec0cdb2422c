import type { AuthClient } from "../../core/api/auth-client.ts";
import { nearestName } from "../../core/config/nearest-name.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { inventoryName, serviceNames } from "../../core/kinds/service-kinds.ts";
import { readDocuments } from "../../core/resources/document.ts";
import { type Instance, instanceDocument } from "../../core/resources/instance.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { type HostLine, type InventorySummary, summarizeInventory } from "./summarize-inventory.ts";

const inventoryServices: readonly string[] = [...serviceNames.map(inventoryName), "proxy", "auth"];

/** `tctl inventory ls`: connected instances that match the filters. */
export async function listInventory(call: Call): Promise<Result> {
  const { options } = call;
  const services = options.list("services").map(parseService);
  return await withAdmin(call, async ({ client }) => {
    const found = await fetchInventory(client, {
      upgrader: options.text("upgrader") ?? "",
      services,
      olderThan: options.text("olderThan") ?? "",
      newerThan: options.text("newerThan") ?? "",
      exactVersion: options.text("exactVersion") ?? "",
    });
    const shown = options.flag("all") ? found : found.filter(({ connected }) => connected);
    const gone = found.length - shown.length;
    const notes =
      gone === 0 ? [] : [`${gone} that ${gone === 1 ? "is" : "are"} not connected ${gone === 1 ? "is" : "are"} left out: --all shows them`];
    return { data: shown, text: inventoryTable(shown), notes };
  });
}

/** `tctl inventory status`: versions, and the hosts that need an admin. */
export async function inventoryStatus(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const summary = summarizeInventory(await fetchInventory(client, {}));
    return { data: summary, text: inventoryStatusText(summary) };
  });
}

type Filter = Partial<Omit<Parameters<AuthClient["listInventory"]>[0], "$typeName" | "$unknown">>;

/** All pages, sorted by host name. */
async function fetchInventory(client: AuthClient, filter: Filter): Promise<readonly Instance[]> {
  const found: Instance[] = [];
  let cursor = "";
  do {
    const part = await client.listInventory({ ...filter, cursor });
    found.push(...readDocuments(instanceDocument, part.instancesJson).map(named));
    cursor = part.cursor;
  } while (cursor !== "");
  const byName = ({ hostname, server_id }: Instance): string => `${hostname} ${server_id}`;
  return found.sort((a, b) => (byName(a) < byName(b) ? -1 : 1));
}

export function inventoryTable(instances: readonly Instance[]): string {
  const rows = instances.map((one) => [one.server_id, one.hostname, one.services.join(","), one.version, one.upgrader]);
  return renderTable(["Server ID", "Hostname", "Services", "Version", "Upgrader"], rows);
}

/** Services have the names that join tokens have for them (`node` for ssh): in text, in JSON and in the filter. */
function named(instance: Instance): Instance {
  return { ...instance, services: instance.services.map(inventoryName) };
}

/** Parses `--services`. Throws `invalid` for an unknown service. */
export function parseService(text: string): string {
  const name = text.toLowerCase();
  if (inventoryServices.includes(name)) return name;
  const near = nearestName(name, inventoryServices);
  throw new PlatformError("invalid", `--services: ${JSON.stringify(text)} is not a service of the inventory`, {
    hint: `${near === undefined ? "" : `did you mean ${near}? `}services are ${inventoryServices.join(", ")}`,
  });
}

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
