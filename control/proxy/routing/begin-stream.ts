import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { maxConnections } from "../../../core/access/session-rules.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import type { Access } from "./read-access.ts";
import type { RoutingServices, StreamAsk } from "./routing-services.ts";

export interface Beginning extends StreamAsk {
  readonly access: Pick<Access, "roles" | "revision">;
  /** Id of the host. */
  readonly host: string;
  /** For SSH; else only the agent knows it. */
  readonly login?: string | undefined;
  readonly channel: Duplex;
}

/** Sends a user's request to its host; next on the channel comes the agent's reply. Resolves to the id of the session. Throws `limit`. */
export async function beginStream(beginning: Beginning, services: Pick<RoutingServices, "running" | "limited" | "log">): Promise<string> {
  const { identity, request, clientAddress, access, host, login = "", channel } = beginning;
  const { running, limited, log } = services;
  const sessionId = beginning.sessionId ?? randomUUID();
  running.add({ identity, host, login, channel });
  if (maxConnections(access.roles) !== undefined) await limited.add({ user: identity.name, hostId: host, connectionId: sessionId }, channel);
  channel.write(encodeStreamRequest({ ...request, clientAddress, sessionId, accessRevision: access.revision }));
  const { kind, target } = request;
  log.info("stream opened", { user: identity.name, kind, target, host, session: sessionId, peer: clientAddress });
  return sessionId;
}
