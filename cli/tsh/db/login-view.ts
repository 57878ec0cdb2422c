import type { CliIo } from "../../io.ts";
import type { Result } from "../../output.ts";
import { shellQuote } from "../../shell-quote.ts";
import { renderFacts } from "../../table.ts";
import { loopback } from "../served/local-port.ts";
import { clientCommands } from "./client-command.ts";
import { clientFile, directService, serviceName } from "./client-files.ts";
import type { DatabaseLogin } from "./database-logins.ts";
import { directHostPort } from "./direct-address.ts";
import { type ClientIdentity, directCommands, directVariables } from "./direct-clients.ts";
import { commandText } from "./start-client.ts";

/* What `tsh db login`, `env` and `config` print of a login. */

type Env = CliIo["env"];

/** The command that has to run while clients use the port of a login. */
function proxyCommand({ name, port }: Pick<DatabaseLogin, "name" | "port">): string {
  return shellQuote(["tsh", "proxy", "db", name, `--port=${port}`]);
}

/** The command of the database's own client on the port of a login: by its file of settings, if the client has one. */
function loginCommandText(cluster: string, login: DatabaseLogin, env: Env): string {
  const { protocol, port, user, database, isCluster } = login;
  const service = serviceName(cluster, login.name);
  if (protocol === "postgres") return shellQuote(["psql", `service=${service}`]);
  if (protocol !== "mysql") return commandText(clientCommands(protocol, { port, user, name: database, isCluster }), env);
  const commands = clientCommands(protocol, { port, user, name: database });
  return commandText(
    commands.map((command) => ({ ...command, args: [`--defaults-group-suffix=_${service}`] })),
    env,
  );
}

/** The command of the database's own client at the proxy's port, without tsh; undefined where there is none. */
function directCommandText(cluster: string, login: DatabaseLogin, { env, files }: Shown): string | undefined {
  const { protocol, name, direct } = login;
  const address = directHostPort(direct);
  const commands = address === undefined ? [] : directCommands({ login, address, files });
  if (commands.length === 0) return undefined;
  const service = directService(cluster, name);
  if (protocol === "postgres") return shellQuote(["psql", `service=${service}`]);
  return commandText(protocol === "mysql" ? commands.map((one) => ({ ...one, args: [`--defaults-group-suffix=_${service}`] })) : commands, env);
}

/** What the views of a login need beside it. */
interface Shown {
  readonly env: Env;
  readonly files: ClientIdentity;
}

/** The result of `tsh db login`. */
export function loginView(cluster: string, login: DatabaseLogin, shown: Shown): Result {
  const { env } = shown;
  const direct = directCommandText(cluster, login, shown);
  const { name, protocol, user, database } = login;
  const file = clientFile(protocol, env);
  const where = database === "" ? "" : `, database ${database}`;
  const command = loginCommandText(cluster, login, env);
  const text = [
    `Logged in to database ${name} (${protocol}) as ${user}${where}.`,
    ...(file === undefined ? [] : [`Its settings for clients are in ${file}.`]),
    "",
    renderFacts([
      ["Connect at once", shellQuote(["tsh", "db", "connect", name])],
      ["Or keep this running", proxyCommand(login)],
      ["and connect with", command],
      ...(direct === undefined ? [] : [["Or without tsh", direct] as const]),
    ]),
  ];
  const data = { ...facts(login), file: file ?? null, command, proxy_command: proxyCommand(login), direct_command: direct ?? null };
  return { data, text: text.join("\n") };
}

/** The result of `tsh db config`. */
export function configView(cluster: string, login: DatabaseLogin, { env, files }: Shown): Result & { cmd: string } {
  const { name, port, user, database } = login;
  const direct = directCommandText(cluster, login, { env, files });
  const { ca, certificate, key } = files;
  const text = renderFacts([
    ["Name", name],
    ["Host", loopback],
    ["Port", String(port)],
    ["User", user],
    ["Database", database],
    ["CA", ca],
    ["Cert", certificate],
    ["Key", key],
    ...(direct === undefined ? [] : [["Without tsh", `${login.direct}, with: ${direct}`] as const]),
  ]);
  const data = { ...facts(login), ca, cert: certificate, key, direct_command: direct ?? null };
  return { data, text, notes: [runNote(login)], cmd: loginCommandText(cluster, login, env) };
}

/** The result of `tsh db env`: variables for psql and all of libpq, or for mysql and mariadb. Undefined for other protocols. */
export function environmentView(cluster: string, login: DatabaseLogin): Result | undefined {
  const variables = environmentOf(cluster, login);
  if (variables === undefined) return undefined;
  const text = Object.entries(variables).map(([key, value]) => `export ${key}=${shellQuote([value])}`);
  return { data: variables, text: text.join("\n"), notes: [runNote(login)] };
}

/** The same for the proxy's port, without tsh; undefined where there is none. */
export function directEnvironmentView(cluster: string, login: DatabaseLogin, files: ClientIdentity): Result | undefined {
  const address = directHostPort(login.direct);
  if (address === undefined) return undefined;
  const variables =
    login.protocol === "mysql" ? { MYSQL_GROUP_SUFFIX: `_${directService(cluster, login.name)}` } : directVariables({ login, address, files });
  if (variables === undefined) return undefined;
  const text = Object.entries(variables).map(([key, value]) => `export ${key}=${shellQuote([value])}`);
  return { data: variables, text: text.join("\n") };
}

function environmentOf(cluster: string, { name, protocol, user, database, port }: DatabaseLogin): Readonly<Record<string, string>> | undefined {
  if (protocol === "mysql") return { MYSQL_GROUP_SUFFIX: `_${serviceName(cluster, name)}` };
  if (protocol !== "postgres") return undefined;
  return {
    PGHOST: loopback,
    PGPORT: String(port),
    PGUSER: user,
    ...(database !== "" && { PGDATABASE: database }),
    PGSSLMODE: "disable",
    PGGSSENCMODE: "disable",
  };
}

function runNote(login: DatabaseLogin): string {
  return `Clients reach this port only while this command runs: ${proxyCommand(login)}`;
}

function facts({ name, protocol, user, database, port, direct }: DatabaseLogin): Readonly<Record<string, unknown>> {
  return { name, protocol, host: loopback, port, user, database, direct };
}
