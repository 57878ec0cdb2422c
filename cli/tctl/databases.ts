import type { Call } from "../command.ts";
import { hostFilter } from "../host-filter.ts";
import { databasesResult, offeredDatabases } from "../offered-databases.ts";
import type { Result } from "../output.ts";
import { withAdmin } from "./connect.ts";

/** `tctl db ls [key=value | word …]`: the databases that connected agents offer. */
export async function listDatabases(call: Call): Promise<Result> {
  const filter = hostFilter(call);
  return await withAdmin(call, async ({ client }) => databasesResult(await offeredDatabases(client, filter)));
}
