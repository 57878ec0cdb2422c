import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dial } from "../../../core/transport/dial/dial.ts";
import { agentHost } from "../../../core/transport/enter-served.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import type { Call } from "../../command.ts";
import type { CheckName, Examination, Said } from "../../doctor/examination.ts";
import { type DatabaseAgent, type ListedDatabase, offeredDatabases } from "../../offered-databases.ts";
import type { Profile } from "../../profile/profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { withAuth, withTrust } from "../../profile/reach-cluster.ts";
import { loopback } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";
import { clientCommands } from "./client-command.ts";
import { databaseLogins } from "./database-logins.ts";
import { findDatabase } from "./find-database.ts";
import { installedClient, notInstalled } from "./start-client.ts";
import { namesForTunnel, statedNames } from "./stated-names.ts";

export interface DatabaseAsk {
  readonly call: Call;
  readonly profile: Profile;
  /** Name of the database, or its beginning. */
  readonly given: string;
}

/** Checks that apply to every database. */
export const databaseChecks: readonly CheckName[] = ["database", "agents", "names", "client"];

/** Checks of `tsh doctor db/NAME`, past the login: whether the database is offered, its agents reach it, the roles allow the names, and a client is there. */
export async function examineDatabase(exam: Examination, ask: DatabaseAsk): Promise<void> {
  const { call, profile } = ask;
  const found = await exam.check("database", () => findOffered(ask));
  if (found === undefined) return;
  const names = await statedNames(call, profile, found);
  await exam.passes("agents", () => judgeAgents(found));
  await exam.passes("names", () => tryNames(ask, found, names));
  await exam.passes("port", () => examineLocalPort(ask, found));
  await exam.passes("client", () => findClient(ask, found));
}

interface FoundDatabase {
  readonly name: string;
  readonly protocol: string;
  readonly agents: readonly DatabaseAgent[];
  /** Accounts that the roles allow there, `*` for any. */
  readonly users: readonly string[];
  /** The user's account there, if agents make it. */
  readonly account?: string;
}

async function findOffered({ call, profile, given }: DatabaseAsk) {
  const all = await withAuth(call.io, profile, (client) => offeredDatabases(client, { labels: {}, search: [], query: "" }));
  const value = joined(all, findOne(all, profile, given));
  const users = value.users.length === 0 ? "" : `, as ${value.users.join(", ")}`;
  return { says: `${value.name} (${value.protocol}) is offered, and your roles allow it${users}`, value };
}

/** Nobody learns whether there is a database that he may not use: the admin's list shows it. */
function findOne(all: readonly ListedDatabase[], { facts }: Profile, given: string): string {
  try {
    return findDatabase(all, given).name;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "not_found") throw thrown;
    const hint = `db_labels of a role of yours (${facts.roles.join(", ") || "you have none"}) have to allow it, and a connected agent has to offer it: \`tctl db ls\` shows an admin all that are offered`;
    throw new PlatformError("not_found", thrown.message, { hint, cause: thrown });
  }
}

/** Agents may offer one name with different labels: they are one database to the user. Pure. */
export function joined(all: readonly ListedDatabase[], name: string): FoundDatabase {
  const same = all.filter((one) => one.name === name);
  const agents = same.flatMap((one) => one.agents);
  const users = [...new Set(same.flatMap((one) => one.users ?? []))];
  const [account] = same.find((one) => one.auto_user)?.users ?? [];
  return { name, protocol: same[0]?.protocol ?? "", agents, users, ...(account !== undefined && { account }) };
}

/** What the agents see of the server. Throws `unavailable` when none of them reaches it. Pure. */
export function judgeAgents({ name, agents }: Pick<FoundDatabase, "name" | "agents">): Said {
  const bad = agents.filter(({ health }) => health === "unhealthy").map((agent) => `${named(agent)}: ${agent.error ?? "unhealthy"}`);
  const hint = "check the server, its certificate and the database's tls settings; `platform doctor` on the agent's host repeats the check";
  if (bad.length > 0 && bad.length === agents.length) {
    throw new PlatformError(
      "unavailable",
      `database ${name} is unreachable for ${bad.length === 1 ? "its agent" : "all its agents"}: ${bad.join("; ")}`,
      {
        hint,
      },
    );
  }
  const says = agents
    .map((agent) => `${named(agent)} ${agent.health === "unknown" ? "has not checked it yet" : `sees it ${agent.health}`}`)
    .join(", ");
  return bad.length === 0 ? { says } : { says, warning: `connections avoid the unhealthy ones: ${bad.join("; ")}; ${hint}` };
}

function named({ hostname, id }: DatabaseAgent): string {
  return hostname || id;
}

/** Opens a connection through an agent, and leaves before any login at the server. Throws the refusal, which names the rule. */
async function tryNames({ call, profile }: DatabaseAsk, found: FoundDatabase, stated: { user: string; name: string }): Promise<Said> {
  const { user, name } = namesForTunnel(found, stated);
  const target = { kind: "db", name: found.name, parameters: { user, name, host: "", at: "" } } as const;
  const stream = await withTrust(call, profile, (trusting) => openServed(call.io, trusting, target)).catch((thrown: unknown) => {
    throw refusal(thrown, found);
  });
  const host = agentHost(stream).id;
  stream.on("error", () => {}).destroy();
  const agent = found.agents.find(({ id }) => id === host);
  const where = agent === undefined ? "its agent" : `the agent on ${named(agent)}`;
  const as = user === "" ? "as the account that the client states" : `as ${user}`;
  return { says: `${where} lets you connect ${as}${name === "" ? "" : `, database ${name}`}` };
}

/** Which names would do is of more use here than where they are shown. */
function refusal(thrown: unknown, { users }: FoundDatabase): unknown {
  if (!(thrown instanceof PlatformError) || thrown.code !== "denied") return thrown;
  const allowed = `your roles allow ${users.length === 0 ? "no account" : users.join(", ")} there`;
  const hint = `${allowed}; choose with --db-user and --db-name, or ask an admin: a role applies after the next tsh login`;
  return new PlatformError("denied", thrown.message, { hint, cause: thrown });
}

/** The port that `tsh db login` wrote into the files of clients. Undefined: there was no such login. */
async function examineLocalPort({ call, profile }: DatabaseAsk, { name }: FoundDatabase): Promise<Said | undefined> {
  const login = (await databaseLogins(tshHome(call.io.env), profile.facts)).find((one) => one.name === name);
  if (login === undefined) return undefined;
  const target = { host: loopback, port: login.port };
  const where = `${formatHostPort(target)}, the port of tsh db login`;
  try {
    (await dial(target, { env: {} })).on("error", () => {}).destroy();
    return { says: `${where}, takes connections` };
  } catch {
    return { says: `nothing listens on ${where}`, warning: `clients reach it while this runs: tsh proxy db ${name} --port=${login.port}` };
  }
}

/** Whether the database's own client is installed. Undefined: this version knows no client of the protocol. */
function findClient({ call: { io } }: DatabaseAsk, { name, protocol }: FoundDatabase): Said {
  const commands = clientCommands(protocol, { port: 0, user: "", name: "" });
  const installed = installedClient(commands, io.env);
  if (installed !== undefined) return { says: `${installed.program} is installed: tsh db connect ${name}` };
  const { message, hint } = notInstalled(commands, name);
  return { says: message, warning: hint };
}
