import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { emptyNotes, offered } from "../../empty-list.ts";
import { hostFilter } from "../../host-filter.ts";
import { databasesResult, offeredDatabases } from "../../offered-databases.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { withAuth, withTrust } from "../../profile/reach-cluster.ts";
import { confirmedSource, confirmFirst } from "../served/confirmed-source.ts";
import { portOption } from "../served/local-port.ts";
import { type ClientTarget, clientCommands } from "./client-command.ts";
import { databaseLogins } from "./database-logins.ts";
import { openDatabaseTunnel, type TunnelAsk, type UsableDatabase, usableDatabase } from "./database-tunnel.ts";
import { commandText } from "./start-client.ts";
import { statedNames } from "./stated-names.ts";

/** `tsh db ls [key=value | word …]`. */
export async function listDatabases(call: Call): Promise<Result> {
  const profile = await chosenProfile(call);
  const filter = hostFilter(call);
  const found = await withAuth(call.io, profile, (client) => offeredDatabases(client, filter));
  const isMachine = call.options.text("identity") !== undefined;
  const logins = isMachine ? [] : await databaseLogins(tshHome(call.io.env), profile.facts);
  const all = found.map((one) => {
    const login = logins.find(({ name }) => name === one.name);
    return { ...one, login: login === undefined ? null : { user: login.user, database: login.database, port: login.port } };
  });
  const nameOf = ({ name, login }: (typeof all)[number]): string => {
    if (login === null) return name;
    return `> ${name} (user: ${login.user}${login.database === "" ? "" : `, db: ${login.database}`})`;
  };
  const notes = emptyNotes(call, all, { noun: "database", labels: "db_labels", needs: offered });
  return { ...databasesResult(all, { name: nameOf, users: true }), notes };
}

/** `tsh proxy db NAME --port`: each connection to a local port goes to the database, until it is interrupted. */
export async function proxyDatabase(call: Call): Promise<Result> {
  const { io, options } = call;
  const [given = ""] = call.args;
  const profile = await chosenProfile(call);
  const database = await withTrust(call, profile, (trusting) => usableDatabase(call, trusting, given));
  const stored = await statedNames(call, profile, database);
  const port = portOption(options.text("port"));
  const names = tunnelNames(call, database, stored);
  const source = confirmedSource(io, await followProfile(call, profile), { kind: "db", name: database.name, account: names.user });
  await confirmFirst(source, database.needsCode);
  const ask: TunnelAsk = { database, source, ...names, port };
  const local = await openDatabaseTunnel(call, ask);
  const command = readyCommand(call, database, { ...stored, port: local.port, isCluster: database.isCluster });
  io.stdout.write(`${tunnelText(database, { address: local.address, isRandom: port === 0, command })}\n`);
  await local.closed;
  return textResult("");
}

/** Clients of these protocols do not state the account, or not before they are asked. */
const stateless: readonly string[] = ["redis", "mongodb"];

/** The names that every connection of the tunnel has: a client may state others where nothing was asked for. */
function tunnelNames({ options }: Call, { protocol }: UsableDatabase, stored: { user: string; name: string }): { user: string; name: string } {
  const given = { user: options.text("dbUser") ?? "", name: options.text("dbName") ?? "" };
  return { ...given, user: given.user === "" && stateless.includes(protocol) ? stored.user : given.user };
}

/** Empty for a protocol that is not known here: its clients may still use the port. */
function readyCommand({ io }: Call, { protocol }: UsableDatabase, target: ClientTarget): string {
  try {
    return commandText(clientCommands(protocol, target), io.env);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return "";
    throw thrown;
  }
}

interface OpenTunnel {
  readonly address: string;
  /** The next one has another port. */
  readonly isRandom: boolean;
  /** Empty: none. */
  readonly command: string;
}

/** What `tsh proxy db` prints. Pure. */
export function tunnelText({ name, protocol, isCluster }: UsableDatabase, { address, isRandom, command }: OpenTunnel): string {
  const kind = protocol === "" ? "" : ` (${protocol})`;
  const lines = [`Database ${name}${kind} is on ${address} until this command ends (Ctrl-C).`];
  if (command !== "") lines.push(`Connect with: ${command}`);
  if (isCluster === true) lines.push("Its members have further local ports, which clients in cluster mode find by themselves.");
  if (isRandom) lines.push("The port is another one next time; for programs with stored settings choose it: --port=<port>");
  return lines.join("\n");
}
