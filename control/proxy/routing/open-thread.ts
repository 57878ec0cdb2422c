import { type Duplex, duplexPair } from "node:stream";
import { u32 } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import { requireReach } from "./open-served.ts";
import type { RoutingServices, StreamAsk } from "./routing-services.ts";

/**
 * Replies to a user's question for the server's number of a connection of MySQL whose client was greeted with another one: four bytes, or none. It says nothing about the
 * query or its user, and the server decides who may kill it. It is for users who may reach the database. PostgreSQL's requests of users come in a stream to the
 * database. Throws `unsupported`, and what refuses a stream to the database.
 */
export async function openThread({ identity, request, clientAddress }: StreamAsk<"cancel">, services: RoutingServices): Promise<Duplex> {
  const { target: database, parameters } = request;
  if (database === "" || !/^[0-9a-f]{8}$/.test(parameters.key))
    throw new PlatformError("unsupported", "only the number of a connection of MySQL can be asked for");
  await requireReach({ identity, database, clientAddress }, services);
  const thread = await services.cancels.threadOf({ database, own: Number.parseInt(parameters.key, 16) }, clientAddress);
  const [near, far] = duplexPair();
  far.on("error", () => {}).resume();
  far.end(Buffer.concat([encodeStreamReply({ ok: true }), thread === undefined ? Buffer.alloc(0) : u32(thread)]));
  return near;
}
