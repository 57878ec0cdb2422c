import { randomInt, randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { authorize } from "../../../core/access/authorize.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { Access } from "./read-access.ts";
import type { RoutingServices, StreamAsk } from "./routing-services.ts";

/** Authorizes the use of an application, and opens a channel to an agent that offers it. Throws PlatformError. */
export async function openApp(ask: StreamAsk<"app">, services: RoutingServices): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  const { target, parameters } = request;
  const access = await services.access.forUser(identity);
  const { tunnel, channel } = await openAny(allowedTunnels(ask, access, services), target, services);
  const sessionId = randomUUID();
  channel.write(encodeStreamRequest({ kind: "app", target, parameters, clientAddress, sessionId, accessRevision: access.revision }));
  const host = tunnel.identity.id;
  services.running.add({ identity, host, login: "", channel });
  services.log.info("app stream opened", { user: identity.name, app: target, host, session: sessionId, peer: clientAddress });
  return channel;
}

/** Tunnels of the agents that offer the application and that the user may reach, in random order. Throws `not_found` or `denied`. */
function allowedTunnels(
  { identity, request, clientAddress }: StreamAsk<"app">,
  { roles, locks }: Access,
  services: RoutingServices,
): readonly Tunnel[] {
  const offers = services.registry.offering("app", request.target);
  if (offers.length === 0) {
    throw new PlatformError("not_found", `no connected agent offers application ${JSON.stringify(request.target.slice(0, 64))}`, {
      hint: "`tsh apps ls` lists those that you may use",
    });
  }
  const facts = { identity, roles, locks, clientIp: ipOf(clientAddress), now: services.now() };
  let refusal: unknown;
  const allowed = offers.flatMap(({ tunnel, offered: { name, labels } }) => {
    try {
      authorize({ ...facts, ask: { kind: "app", served: { name, labels }, serverId: tunnel.identity.id } });
      return [tunnel];
    } catch (thrown) {
      refusal ??= thrown;
      return [];
    }
  });
  if (allowed.length === 0) throw refusal;
  const first = randomInt(allowed.length);
  return [...allowed.slice(first), ...allowed.slice(0, first)];
}

/** A channel to the first of them that opens one. Throws the first failure. */
async function openAny(
  tunnels: readonly Tunnel[],
  app: string,
  { log }: RoutingServices,
): Promise<{ readonly tunnel: Tunnel; readonly channel: Duplex }> {
  let fault: unknown;
  for (const tunnel of tunnels) {
    try {
      return { tunnel, channel: await tunnel.openStream(openMs) };
    } catch (thrown) {
      fault ??= thrown;
      log.info("an agent did not open a stream: trying the next one", { app, host: tunnel.identity.id, error: errorText(thrown) });
    }
  }
  throw fault;
}
