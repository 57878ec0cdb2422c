import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { authorizeJoin } from "../../../core/access/authorize-join.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { StreamKind } from "../../../core/kinds/stream-kinds.ts";
import { type ActiveSession, type JoinMode, joinModes } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { Access } from "./access-cache.ts";
import { auditRefusal } from "./audit-refusal.ts";
import { awaitTunnel } from "./await-tunnel.ts";
import { dialDirect } from "./dial-direct.ts";
import { openApp } from "./open-app.ts";
import { openSsh } from "./open-ssh.ts";
import type { ChosenHost, RoutingServices, StreamAsk } from "./routing-services.ts";

type Handler<Kind extends StreamKind> = (ask: StreamAsk<Kind>, services: RoutingServices, chosen: ChosenHost) => Promise<Duplex>;

/** The handler of every kind of stream. Only that of SSH knows of recording at the proxy. */
const handlers: { readonly [Kind in StreamKind]: Handler<Kind> } = { ssh: openSsh, join: openJoin, app: openApp };

/**
 * Authorizes and opens a channel to the agent, with the request already written to it: next comes the agent's
 * StreamReply. A refusal is audited and thrown as PlatformError.
 */
export async function openStream(ask: StreamAsk, services: RoutingServices): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  const chosen: ChosenHost = { host: undefined };
  try {
    const open = handlers[request.kind] as Handler<StreamKind>;
    return await open(ask, services, chosen);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity.name, request, host: chosen.host }, services);
    throw error;
  }
}

/** Authorizes a user to join a running session, and opens a channel to the process that serves it. Throws PlatformError. */
async function openJoin({ identity, request, clientAddress }: StreamAsk<"join">, services: RoutingServices): Promise<Duplex> {
  const { target: sid } = request;
  const mode = joinMode(request.parameters.mode);
  const access = await services.access.forUser(identity);
  const { roles, locks, revision } = access;
  const session = await services.findSession(sid);
  const { now, log, running } = services;
  authorizeJoin({ identity, roles, locks, clientIp: ipOf(clientAddress), now: now(), sid, mode, session });
  if (session === undefined) throw new Error("access to a missing session was granted");
  const channel = await openChannel(session, access, services);
  const sessionId = randomUUID();
  channel.write(encodeStreamRequest({ kind: "join", target: sid, parameters: { mode }, clientAddress, sessionId, accessRevision: revision }));
  running.add({ identity, host: session.server_id, login: session.login, channel });
  log.info("join opened", { user: identity.name, host: session.server_id, session: sid, mode, peer: clientAddress });
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
  const dialled = await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses: host.addresses, hosts: [host], name });
  return dialled.socket;
}

function tunnelOfProcess({ server_id: id, process }: ActiveSession, { registry }: RoutingServices): Tunnel | undefined {
  return registry.ofHost(id).find((one) => !one.ended && one.facts.process === process);
}
