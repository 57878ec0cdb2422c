import type { Call } from "../../command.ts";
import type { Result } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { confirmedSource, confirmFirst } from "../served/confirmed-source.ts";
import { clientCommands } from "./client-command.ts";
import { openDatabaseTunnel, usableDatabase } from "./database-tunnel.ts";
import { leavingInterrupts, runClient } from "./start-client.ts";
import { namesForTunnel, statedNames } from "./stated-names.ts";

/** `tsh db connect NAME [client argument...]`: the database's own client, through a local port of its own. */
export async function connectDatabase(call: Call): Promise<Result> {
  const [given = "", ...forClient] = call.args;
  const end = forClient.indexOf("--");
  const rest = end < 0 ? forClient : forClient.toSpliced(end, 1);
  const profile = await chosenProfile(call);
  const database = await withTrust(call, profile, (trusting) => usableDatabase(call, trusting, given));
  const names = await statedNames(call, profile, database);
  const forTunnel = namesForTunnel(database, names);
  const source = confirmedSource(call.io, await followProfile(call, profile), { kind: "db", name: database.name, account: forTunnel.user });
  // The client reads from the terminal.
  await confirmFirst(source, database.needsCode);
  await using local = await openDatabaseTunnel(call, { database, source, ...forTunnel, port: 0, clientPrints: true });
  const commands = clientCommands(database.protocol, { port: local.port, ...names, isCluster: database.isCluster });
  const start = { env: call.io.env, database: database.name, stdio: "inherit", rest } as const;
  const status = await leavingInterrupts(() => runClient(commands, start));
  return { data: {}, text: "", status };
}
