import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { authorizeJoin } from "../../../core/access/authorize-join.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ActiveSession, type JoinMode, joinModes } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { RoutingServices, StreamAsk } from "./open-stream.ts";

/** Authorizes somebody to join a running session, and opens a channel to the process that has it. Throws PlatformError. */
export async function openJoin({ identity, request, clientAddress }: StreamAsk, services: RoutingServices): Promise<Duplex> {
  const { target: sid, login } = request;
  const mode = joinMode(login);
  const { roles, locks, revision } = await services.access.current();
  const session = await services.findSession(sid);
  const { now, log, running } = services;
  authorizeJoin({ identity, roles, locks, clientIp: ipOf(clientAddress), now: now(), sid, mode, session });
  if (session === undefined) throw new Error("a session that is not there was granted");
  const tunnel = tunnelOf(session, services);
  const channel = await tunnel.openStream(openMs);
  const sessionId = randomUUID();
  channel.write(encodeStreamRequest({ kind: "join", target: sid, login: mode, clientAddress, sessionId, accessRevision: revision }));
  running.add({ identity, host: tunnel.identity.id, login: session.login, channel });
  log.info("join opened", { user: identity.name, host: tunnel.identity.id, session: sid, mode, peer: clientAddress });
  return channel;
}

function joinMode(text: string): JoinMode {
  const mode = joinModes.find((one) => one === text);
  if (mode === undefined) throw new PlatformError("invalid", `${JSON.stringify(text.slice(0, 64))} is no way to join a session: observer or peer`);
  return mode;
}

/** Of the process that has the session: after a reload of the agent it takes nothing else. */
function tunnelOf(session: ActiveSession, { registry }: Pick<RoutingServices, "registry">): Tunnel {
  const found = registry.ofHost(session.server_id).find((tunnel) => !tunnel.ended && tunnel.facts.process === session.process);
  if (found !== undefined) return found;
  throw new PlatformError("unavailable", `the host of this session, ${session.server_name}, is not connected here now`, {
    hint: "try again in a moment",
  });
}
