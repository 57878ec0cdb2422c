import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { namesMeant } from "../../../core/identity/cluster-names.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { Access } from "./access-cache.ts";
import type { ToldTargets } from "./ask-for-targets.ts";
import { auditRefusal } from "./audit-refusal.ts";
import { dialDirect } from "./dial-direct.ts";
import { type DirectTarget, sharedAddress } from "./direct-target.ts";
import { awaitTunnel, type ElsewhereTarget } from "./elsewhere-target.ts";
import { allowedTargets, findTarget, namesakesAway } from "./find-target.ts";
import { openApp } from "./open-app.ts";
import { openJoin } from "./open-join.ts";
import { openOpenssh } from "./open-openssh.ts";
import { findOpenssh, type OpensshTarget, requireEveryLogin } from "./openssh-target.ts";
import type { RoutingServices, StreamAsk } from "./routing-services.ts";

/**
 * Authorizes and opens a channel to the agent, with the request already written to it: next comes the agent's
 * StreamReply. A refusal is audited and thrown as PlatformError.
 */
export async function openStream(ask: StreamAsk, services: RoutingServices): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  let chosen: Target | undefined;
  try {
    if (request.kind === "join") return await openJoin({ ...ask, request }, services);
    if (request.kind === "app") return await openApp({ ...ask, request }, services);
    const access = await services.access.current();
    await services.expected.settled(request.target, services.cluster);
    const { target } = request;
    const { login } = request.parameters;
    const who = { identity, roles: access.roles, locks: access.locks, clientIp: ipOf(clientAddress), now: services.now() };
    const { candidates, recorded } = await findCandidates(target, access, services);
    const facts = { target, candidates, recorded, login, ...who };
    const group = sharedAddress(candidates.filter(isDirect), target, services.cluster);
    if (group !== undefined && candidates.every(isDirect) && namesakesAway(facts).length === 0) {
      const hosts = allowedTargets({ ...facts, candidates });
      const dialled = await dialDirect({ ...services, hostAuthorities: access.hostCaPem, addresses: [group], hosts, name: target });
      chosen = dialled.host;
      return await begin(dialled.socket, { ...ask, request, host: chosen, access }, services);
    }
    chosen = findTarget(facts);
    if ("addr" in chosen) {
      requireEveryLogin(chosen, who);
      return await openOpenssh(chosen, { ...ask, request, mode: access.sessionRecording }, services);
    }
    const host = "elsewhere" in chosen ? await awaitTunnel(chosen, services.registry) : chosen;
    const channel = await openChannel(host, access, services);
    return await begin(channel, { ...ask, request, host, access }, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity.name, request, host: chosen }, services);
    throw error;
  }
}

type Target = Tunnel | DirectTarget | ElsewhereTarget | OpensshTarget;

function isDirect(candidate: Target): candidate is DirectTarget {
  return "addresses" in candidate;
}

/** All hosts that match the target. A host with a tunnel here is not dialled. */
async function findCandidates(
  target: string,
  { openssh }: Access,
  services: RoutingServices,
): Promise<{ readonly candidates: readonly Target[]; readonly recorded: ToldTargets["recorded"] }> {
  const { registry, cluster } = services;
  const { reachable, recorded } = await services.askForTargets(target).catch((thrown: unknown) => {
    // Without the auth service, hosts with a tunnel stay reachable: by id, and by a unique name.
    const tunnels = registry.find(target, cluster);
    if (tunnels.length === 0) throw thrown;
    requireOwnName(target, tunnels, cluster);
    return { reachable: [], recorded: [] };
  });
  // The auth service learns of a tunnel before it is registered here, and then omits its host from the answer.
  if (registry.find(target, cluster).length === 0) await services.arriving.settled(target, cluster);
  const tunnels = registry.find(target, cluster);
  const here = new Set(tunnels.map(({ identity }) => identity.id));
  const others = reachable.filter(({ identity }) => !here.has(identity.id));
  return { candidates: [...tunnels, ...others, ...findOpenssh(openssh, target, cluster)], recorded };
}

function requireOwnName(target: string, tunnels: readonly Tunnel[], cluster: string): void {
  const meant = namesMeant(target, cluster);
  if (!tunnels.some(({ identity, sharesName }) => sharesName && !meant.includes(identity.id))) return;
  throw new PlatformError("unavailable", `several hosts are recorded as ${JSON.stringify(target)}, and the auth service is unreachable`, {
    hint: "try again shortly, or use the host's id",
  });
}

async function openChannel(chosen: Tunnel | DirectTarget, { hostCaPem }: Access, services: RoutingServices): Promise<Duplex> {
  if (!isDirect(chosen)) {
    requireSsh(chosen);
    return await chosen.openStream(openMs);
  }
  const { addresses, facts } = chosen;
  const { socket } = await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses, hosts: [chosen], name: facts.hostname });
  return socket;
}

/** Throws `denied` for a host whose join token was for other services. */
function requireSsh({ facts, refusedServices }: Tunnel): void {
  if (refusedServices.includes("ssh"))
    throw new PlatformError("denied", `${facts.hostname} may not offer SSH: it joined with a token for other services`);
}

interface Chosen extends StreamAsk<"ssh"> {
  readonly host: Tunnel | DirectTarget;
  readonly access: Access;
}

/** Forwards the request: next on the channel comes the agent's reply. */
async function begin(channel: Duplex, { identity, request, clientAddress, host, access }: Chosen, services: RoutingServices): Promise<Duplex> {
  const { target, parameters } = request;
  const { login } = parameters;
  const { id } = host.identity;
  const sessionId = randomUUID();
  channel.write(encodeStreamRequest({ kind: "ssh", target, parameters, clientAddress, sessionId, accessRevision: access.revision }));
  services.running.add({ identity, host: id, login, channel });
  services.log.info("stream opened", { user: identity.name, host: id, session: sessionId, peer: clientAddress });
  return await services.between(channel, { identity, login, clientAddress, host, sessionId, mode: access.sessionRecording });
}
