import type { Duplex } from "node:stream";
import { authorizeJoin } from "../../../core/access/authorize-join.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocument } from "../../../core/resources/document.ts";
import { type ActiveSession, type JoinMode, joinModes, sessionDocument } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { RoutedTunnel } from "../tunnels/registry.ts";
import { openMs } from "../tunnels/tunnel.ts";
import { beginStream } from "./begin-stream.ts";
import { awaitTunnel, dialDirect } from "./reach-host.ts";
import type { Access } from "./read-access.ts";
import type { ChosenHost, RoutingServices, StreamAsk } from "./routing-services.ts";

/** Authorizes a user to join a running session, and opens a channel to the process that serves it. Throws PlatformError. */
export async function openJoin(ask: StreamAsk<"join">, services: RoutingServices, chosen: ChosenHost): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  const { target: sid } = request;
  const mode = joinMode(request.parameters.mode);
  const access = await services.access.forUser(identity);
  const { roles, locks } = access;
  const session = await services.findSession(sid);
  authorizeJoin({ identity, roles, locks, clientIp: ipOf(clientAddress), now: services.now(), sid, mode, session });
  if (session === undefined) throw new Error("access to a missing session was granted");
  chosen.host = { identity: { id: session.server_id }, facts: { hostname: session.server_name, labels: {} } };
  const channel = await openChannel(session, access, services);
  await beginStream({ ...ask, access, host: session.server_id, login: session.login, channel }, services);
  return channel;
}

function joinMode(text: string): JoinMode {
  const mode = joinModes.find((one) => one === text);
  if (mode === undefined) throw new PlatformError("invalid", `unknown join mode ${JSON.stringify(text.slice(0, 64))}; use observer or peer`);
  return mode;
}

/**
 * The tunnel of the process that serves the session: after a reload of the agent it accepts nothing else. A dialled host answers with its newest
 * process.
 */
async function openChannel(session: ActiveSession, { hostCaPem }: Access, services: RoutingServices): Promise<Duplex> {
  const { server_id: id, server_name: name } = session;
  const tunnel = tunnelOfProcess(session, services);
  if (tunnel !== undefined) return await tunnel.openStream(openMs);
  const host = (await services.hosts.find(id)).reachable.find(({ identity }) => identity.id === id);
  if (host?.via === "elsewhere") {
    const arrived = await awaitTunnel(host, services.registry);
    return await (tunnelOfProcess(session, services) ?? arrived).openStream(openMs);
  }
  if (host === undefined) {
    throw new PlatformError("unavailable", `the host of this session, ${name}, is not connected to this proxy now`, { hint: "try again shortly" });
  }
  const dialled = await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses: host.addresses, hosts: [host], name: () => name });
  return dialled.socket;
}

function tunnelOfProcess({ server_id: id, process }: ActiveSession, { registry }: RoutingServices): RoutedTunnel | undefined {
  return registry.ofHost(id).find((one) => !one.ended && one.facts.process === process);
}

/** Requests the session with this id from the auth service. Throws when that fails. */
export async function findSession(auth: Pick<AuthClient, "findSession">, sid: string): Promise<ActiveSession | undefined> {
  const { sessionJson } = await auth.findSession({ sessionId: sid.slice(0, 64) });
  return sessionJson === "" ? undefined : readDocument(sessionDocument, sessionJson);
}
