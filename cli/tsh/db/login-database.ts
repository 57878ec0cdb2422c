import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile, loadFacts, proxyOption } from "../../profile/choose-profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { dropCertificates, storeCertificate } from "../../profile/store-certificate.ts";
import { portOption } from "../served/local-port.ts";
import { ownCertificate } from "../served/own-certificate.ts";
import { chooseNames } from "./choose-names.ts";
import { removeClientSettings, writeClientSettings } from "./client-files.ts";
import { changingLogins, type DatabaseLogin, databaseLogins, portFor, saveDatabaseLogins } from "./database-logins.ts";
import { usableDatabase } from "./database-tunnel.ts";
import { directAddress } from "./direct-address.ts";
import { clientIdentity } from "./direct-clients.ts";
import { findDatabase } from "./find-database.ts";
import { loginView } from "./login-view.ts";

/** `tsh db login NAME`: a certificate for this database only, and settings for its own clients. */
export async function loginDatabase(call: Call): Promise<Result> {
  const { io, options } = call;
  const [given = ""] = call.args;
  refuseIdentity(call);
  const home = tshHome(io.env);
  const profile = await chosenProfile(call);
  const { facts } = profile;
  const database = await withTrust(call, profile, (trusting) => usableDatabase(call, trusting, given));
  const { proxy } = await loadFacts(home, proxyOption(call));
  const port = portOption(options.text("port"));
  const { isCluster = false } = database;
  // The proxy's port has none for the members.
  const direct = isCluster ? "" : await directAddress(io, proxy, database.protocol);
  const files = clientIdentity(home, proxy, database.name);
  const login = await changingLogins(home, async (): Promise<DatabaseLogin> => {
    const logins = await databaseLogins(home, facts);
    const others = logins.filter(({ name }) => name !== database.name);
    const before = logins.find(({ name }) => name === database.name);
    const earlier = before && { user: before.user, name: before.database };
    const names = chooseNames(database, { user: options.text("dbUser"), name: options.text("dbName"), before: earlier }, facts);
    const taken = others.map((other) => other.port);
    const local = port || before?.port || portFor(facts.cluster, database.name, taken);
    const { name, protocol } = database;
    const fresh = { name, protocol, user: names.user, database: names.name, port: local, direct, ...(isCluster && { isCluster }) };
    const certificate = await ownCertificate(io, profile, { kind: "db", name, account: names.user });
    await writeClientSettings(io.env, { cluster: facts.cluster, files }, fresh);
    await storeCertificate(home, proxy, certificate);
    await saveDatabaseLogins(home, facts, [...others, fresh]);
    return fresh;
  });
  return loginView(facts.cluster, login, { env: io.env, files });
}

/** `tsh db logout [NAME]`: deletes certificates and the settings of clients, of one database or of all. */
export async function logoutDatabase(call: Call): Promise<Result> {
  const { io } = call;
  const [given] = call.args;
  refuseIdentity(call);
  const home = tshHome(io.env);
  const facts = await loadFacts(home, proxyOption(call));
  const removed = await changingLogins(home, async () => {
    const logins = await databaseLogins(home, facts);
    const names = given === undefined ? logins.map(({ name }) => name) : [findLogin(logins, given).name];
    await removeClientSettings(io.env, facts.cluster, names);
    await dropCertificates(home, facts.proxy, given === undefined ? { kind: "db" } : { kind: "db", names });
    const kept = logins.filter(({ name }) => !names.includes(name));
    await saveDatabaseLogins(home, facts, kept);
    return names;
  });
  if (given !== undefined) return { ...textResult(`Logged out of database ${removed[0]}.`), data: { removed } };
  const text = removed.length === 0 ? "You were not logged in to any database." : `Logged out of all databases: ${removed.join(", ")}.`;
  return { data: { removed }, text };
}

/** The login to a database of this name, or to the only one whose name begins so. Throws `not_found`, `invalid`. */
export function findLogin(logins: readonly DatabaseLogin[], given: string): DatabaseLogin {
  try {
    return findDatabase(logins, given);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "not_found") throw thrown;
    throw new PlatformError("not_found", `you are not logged in to a database ${JSON.stringify(given.slice(0, 64))}`, {
      hint: "log in with: tsh db login <name>; `tsh db ls` lists the databases, and marks those with a login",
    });
  }
}

function refuseIdentity({ options }: Call): void {
  if (options.text("identity") === undefined) return;
  throw new PlatformError("unsupported", "an identity file has no place for logins to databases", {
    hint: "make one for the database alone with: tctl auth sign --only=db/<name>; or use tsh proxy db with this one",
  });
}
