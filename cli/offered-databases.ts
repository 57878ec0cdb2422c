import type { AuthClient } from "../core/api/auth-client.ts";
import type { Labels } from "../core/resources/metadata.ts";
import { type OfferedHealth, offeredHealths } from "../core/resources/offered.ts";
import type { HostFilter } from "./host-filter.ts";
import type { Result } from "./output.ts";
import { renderLabels, renderTable } from "./table.ts";

/*
 * The databases that agents offer, as both tsh and tctl list them.
 */

export interface DatabaseAgent {
  /** Id of its host. */
  readonly id: string;
  /** Empty for an auth service of the version before. */
  readonly hostname: string;
  readonly health: OfferedHealth;
  /** Why it is unhealthy; of one that answers, the fault of the account with which its agent makes others. */
  readonly error?: string;
}

export interface ListedDatabase {
  readonly name: string;
  readonly protocol: string;
  /** That of the best agent: connections use it. */
  readonly health: OfferedHealth;
  readonly labels: Labels;
  /** The connected ones that offer the database with these labels. */
  readonly agents: readonly DatabaseAgent[];
  /** Accounts that the caller's roles allow there, `*` for any. Omitted when they are not known. */
  readonly users?: readonly string[];
  /** Agents make the caller's account, the only one of `users`. */
  readonly auto_user?: true;
  /** Why no connection uses it. */
  readonly unused?: string;
}

/** The matching databases that the caller may see, by name. Throws the auth service's refusal. */
export async function offeredDatabases(
  client: Pick<AuthClient, "listOffered">,
  { labels, search, query }: HostFilter,
): Promise<readonly ListedDatabase[]> {
  const { resources } = await client.listOffered({ kind: "db", labels, search: [...search], query });
  // An older auth service does not know the filter.
  const wanted = Object.entries(labels);
  return resources.filter((one) => wanted.every(([key, value]) => one.labels[key] === value)).map(listedDatabase);
}

type Offer = Awaited<ReturnType<AuthClient["listOffered"]>>["resources"][number];

function listedDatabase({ name, labels, details, hostIds, hosts, accounts, makesAccount, unused }: Offer): ListedDatabase {
  const seen =
    hosts.length > 0 ? hosts : hostIds.map((id) => ({ id, hostname: "", health: details.health ?? "", healthError: details.health_error ?? "" }));
  const agents = seen.map(({ id, hostname, health, healthError }) => ({
    id,
    hostname,
    health: offeredHealths.find((one) => one === health) ?? "unknown",
    ...(healthError !== "" && { error: healthError }),
  }));
  const health = offeredHealths.find((one) => agents.some((agent) => agent.health === one)) ?? "unknown";
  const users = accounts.length > 0 ? { users: accounts, ...(makesAccount && { auto_user: true as const }) } : {};
  return { name, protocol: details.protocol ?? "", health, labels, agents, ...users, ...(unused !== "" && { unused }) };
}

/** Columns of one command. */
export interface DatabaseColumns<One extends ListedDatabase> {
  /** Default: the name. */
  readonly name?: (one: One) => string;
  /** Whether the accounts are shown. */
  readonly users?: boolean;
}

/** A row for each database; below, why agents cannot reach one, and what they cannot do at one that they reach. Pure. */
export function databasesResult<One extends ListedDatabase>(
  all: readonly One[],
  { name: nameOf, users: withUsers = false }: DatabaseColumns<One> = {},
): Result {
  const rows = all.map((one) => {
    const { name, protocol, health, labels, agents, users = [], auto_user: isMade } = one;
    const healthy = agents.filter((agent) => agent.health === "healthy").length;
    const facts = [nameOf?.(one) ?? name, protocol, health, `${healthy} of ${agents.length}`];
    return [...facts, ...(withUsers ? [`${users.join(", ")}${isMade === true ? " (auto-provisioned)" : ""}`] : []), renderLabels(labels)];
  });
  const columns = ["Database", "Protocol", "Health", "Healthy agents", ...(withUsers ? ["Allowed users"] : []), "Labels"];
  const table = renderTable(columns, rows);
  const faults = all.flatMap(({ name, agents }) =>
    agents.flatMap(({ id, hostname, health, error }) => (error === undefined ? [] : [{ health, row: [name, hostname || id, error] }])),
  );
  const below = (title: string, isWanted: (health: OfferedHealth) => boolean): readonly string[] => {
    const reasons = faults.filter((one) => isWanted(one.health)).map(({ row }) => row);
    return reasons.length === 0 ? [] : [renderTable([title, "Agent on", "Reason"], reasons)];
  };
  const tables = [
    table,
    ...below("Unhealthy", (health) => health === "unhealthy"),
    ...below("Faulty", (health) => health !== "unhealthy"),
    ...unusedTable(all),
  ];
  const text = tables.join("\n\n");
  return { data: all, text, names: [...new Set(all.map(({ name }) => name))] };
}

/** Resources that connections do not use, and why; none: no table. Pure. */
export function unusedTable(
  all: readonly { readonly name: string; readonly agents: readonly Pick<DatabaseAgent, "id" | "hostname">[]; readonly unused?: string }[],
): readonly string[] {
  const rows = all.flatMap(({ name, agents, unused }) => {
    return unused === undefined ? [] : [[name, agents.map(({ id, hostname }) => hostname || id).join(", "), unused]];
  });
  return rows.length === 0 ? [] : [renderTable(["Not used", "Agent on", "Reason"], rows)];
}
