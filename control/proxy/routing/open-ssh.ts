import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { encodeStreamRequest } from "../../../core/transport/stream-request.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { Access } from "./access-cache.ts";
import { awaitTunnel } from "./await-tunnel.ts";
import { dialDirect } from "./dial-direct.ts";
import { findCandidates } from "./find-candidates.ts";
import { allowedTargets, findTarget, namesakesAway } from "./find-target.ts";
import { openOpenssh } from "./open-openssh.ts";
import { requireEveryLogin } from "./openssh-target.ts";
import type { ChosenHost, RoutingServices, StreamAsk } from "./routing-services.ts";
import { sharedAddress } from "./shared-address.ts";
import type { DirectTarget, ElsewhereTarget, Target, TunnelTarget } from "./target.ts";

/** Authorizes an SSH session and opens a channel to its host: recorded here, if the cluster records at the proxy. Throws PlatformError. */
export async function openSsh(ask: StreamAsk<"ssh">, services: RoutingServices, chosen: ChosenHost): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  const access = await services.access.forUser(identity);
  const { target } = request;
  const { login } = request.parameters;
  await services.expected.settled(target, services.cluster);
  const who = { identity, roles: access.roles, locks: access.locks, clientIp: ipOf(clientAddress), now: services.now() };
  const { candidates, recorded } = await findCandidates(target, access, services);
  const facts = { target, candidates, recorded, login, ...who };
  const dialled = await dialShared(facts, access, services);
  const host = dialled?.host ?? findTarget(facts);
  chosen.host = host;
  if (host.via === "sshd") requireEveryLogin(host, who);
  const opened =
    host.via === "sshd"
      ? await openOpenssh(host, ask, services)
      : begin(dialled?.socket ?? (await openChannel(host, access, services)), { ...ask, host, access }, services);
  const { channel, sessionId } = opened;
  return await services.between(channel, { identity, login, clientAddress, host, sessionId, mode: access.sessionRecording });
}

/** When the target is a public address that several dialled hosts share: a connection to one of them. */
async function dialShared(facts: Parameters<typeof findTarget<Target>>[0], { hostCaPem }: Access, services: RoutingServices) {
  const { target, candidates } = facts;
  const direct = candidates.filter((candidate) => candidate.via === "dial");
  const address = direct.length === candidates.length ? sharedAddress(direct, target, services.cluster) : undefined;
  if (address === undefined || namesakesAway(facts).length > 0) return undefined;
  const hosts = allowedTargets({ ...facts, candidates: direct });
  return await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses: [address], hosts, name: target });
}

async function openChannel(host: TunnelTarget | DirectTarget | ElsewhereTarget, { hostCaPem }: Access, services: RoutingServices): Promise<Duplex> {
  if (host.via !== "dial") {
    const tunnel = host.via === "tunnel" ? host.tunnel : await awaitTunnel(host, services.registry);
    requireSsh(tunnel);
    return await tunnel.openStream(openMs);
  }
  const { addresses, facts } = host;
  const { socket } = await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses, hosts: [host], name: facts.hostname });
  return socket;
}

/** Throws `denied` for a host whose join token was for other services. */
function requireSsh({ facts, refusedServices }: Tunnel): void {
  if (refusedServices.includes("ssh"))
    throw new PlatformError("denied", `${facts.hostname} may not offer SSH: it joined with a token for other services`);
}

interface Chosen extends StreamAsk<"ssh"> {
  readonly host: Target;
  readonly access: Access;
}

/** Forwards the request: next on the channel comes the agent's reply. */
function begin(channel: Duplex, { identity, request, clientAddress, host, access }: Chosen, services: RoutingServices) {
  const { target, parameters } = request;
  const { id } = host.identity;
  const sessionId = randomUUID();
  channel.write(encodeStreamRequest({ kind: "ssh", target, parameters, clientAddress, sessionId, accessRevision: access.revision }));
  services.running.add({ identity, host: id, login: parameters.login, channel });
  services.log.info("stream opened", { user: identity.name, host: id, session: sessionId, peer: clientAddress });
  return { channel, sessionId };
}
