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
import { inventoryStatusText } from "./inventory-status-text.ts";
import { summarizeInventory } from "./summarize-inventory.ts";

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
  const rows = instances.map((one) => [one.server_id, one.hostname, one.services.join(","), one.version, upgraderText(one)]);
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

/** A host that has not reported since the auth service started may have any. */
function upgraderText({ upgrader, connected, status }: Instance): string {
  return !connected && status === undefined ? "unknown" : upgrader;
}
