import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { authorize } from "../../../core/access/authorize.ts";
import { confirmedBy } from "../../../core/audit/recorded-user.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import { sshLogins, type UserIdentity } from "../../../core/identity/identity.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { Role } from "../../../core/resources/role.ts";
import { ignoreError } from "../../../core/transport/dial/attempt.ts";
import { dial } from "../../../core/transport/dial/dial.ts";
import { ipOf, parseHostPort } from "../../../core/transport/host-port.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import type { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import type { RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import { openMs } from "../tunnels/tunnel.ts";
import type { AccessCache } from "./access-cache.ts";
import type { AuditQueue } from "./audit-queue.ts";
import { beginStream } from "./begin-stream.ts";
import {
  allowedTargets,
  type DirectTarget,
  type ElsewhereTarget,
  findTarget,
  namesakesAway,
  type OpensshTarget,
  type RecordedTarget,
  requireMfa,
  type Target,
  type TunnelTarget,
  tunnelTarget,
} from "./find-target.ts";
import type { HostDirectory } from "./host-directory.ts";
import { awaitTunnel, dialDirect } from "./reach-host.ts";
import type { Access } from "./read-access.ts";
import type { ChosenHost, RoutingServices, StreamAsk } from "./routing-services.ts";

/** What an SSH session needs of the proxy. */
interface Services extends Pick<RoutingServices, "log" | "identity" | "arriving" | "running" | "limited" | "between" | "cluster" | "now"> {
  readonly access: Pick<AccessCache, "forUser">;
  readonly registry: Pick<TunnelRegistry<RoutedTunnel>, "find" | "arrival">;
  readonly expected: Pick<ExpectedHosts, "settled">;
  readonly hosts: Pick<HostDirectory, "find">;
  readonly audit: Pick<AuditQueue, "emit">;
}

/** Authorizes an SSH session and opens a channel to its host: recorded here, if the cluster records at the proxy. Throws PlatformError. */
export async function openSsh(ask: StreamAsk<"ssh">, services: Services, chosen: ChosenHost): Promise<Duplex> {
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
  try {
    requireMfa(host, facts);
  } catch (thrown) {
    dialled?.socket.destroy();
    throw thrown;
  }
  if (host.via === "sshd") requireEveryLogin(host, who);
  const opened =
    host.via === "sshd"
      ? await openOpenssh(host, ask, services)
      : await begin(dialled?.socket ?? (await openChannel(host, access, services)), { ...ask, host, access }, services);
  const { channel, sessionId } = opened;
  const between = await services.between(channel, { identity, login, clientAddress, host, sessionId, mode: access.sessionRecording });
  services.running.extend(channel, between);
  return between;
}

/** When the target is a public address that several dialled hosts share: a connection to one of them. */
async function dialShared(facts: Parameters<typeof findTarget<Target>>[0], { hostCaPem }: Access, services: Services) {
  const { target, candidates } = facts;
  const direct = candidates.filter((candidate) => candidate.via === "dial");
  const address = direct.length === candidates.length ? sharedAddress(direct, target, services.cluster) : undefined;
  if (address === undefined || namesakesAway(facts).length > 0) return undefined;
  const hosts = allowedTargets({ ...facts, candidates: direct });
  return await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses: [address], hosts, name: () => target });
}

async function openChannel(host: TunnelTarget | DirectTarget | ElsewhereTarget, { hostCaPem }: Access, services: Services): Promise<Duplex> {
  if (host.via !== "dial") {
    const tunnel = host.via === "tunnel" ? host.tunnel : await awaitTunnel(host, services.registry);
    requireSsh(tunnel);
    return await tunnel.openStream(openMs);
  }
  const { addresses, facts } = host;
  const { socket } = await dialDirect({ ...services, hostAuthorities: hostCaPem, addresses, hosts: [host], name: () => facts.hostname });
  return socket;
}

/** Throws `denied` for a host whose join token was for other services. */
function requireSsh({ facts, refusedServices }: RoutedTunnel): void {
  if (refusedServices.includes("ssh"))
    throw new PlatformError("denied", `${facts.hostname} may not offer SSH: it joined with a token for other services`);
}

/** Forwards the request: next on the channel comes the agent's reply. */
async function begin(channel: Duplex, ask: StreamAsk<"ssh"> & { readonly host: Target; readonly access: Access }, services: Services) {
  const { login } = ask.request.parameters;
  return { channel, sessionId: await beginStream({ ...ask, host: ask.host.identity.id, login, channel }, services) };
}

/**
 * The address that makes all these hosts one for users: the target is a public name of theirs, and each of them announces that it is reached
 * at the same address under it. Undefined when the target means one of them, or when one of them disagrees: a host cannot become a
 * part of others' name by claiming it, because it does not decide which host answers at that address. Pure.
 */
export function sharedAddress(candidates: readonly DirectTarget[], target: string, cluster: string): string | undefined {
  if (candidates.length < 2) return undefined;
  const meant = new Set(namesMeant(target, cluster));
  if (candidates.some(({ identity, facts }) => meant.has(identity.id.toLowerCase()) || meant.has(canonicalName(facts.hostname)))) return undefined;
  const [first, ...others] = candidates.map(({ shared }) =>
    shared.filter((address) => meant.has(canonicalName(parseHostPort(address, undefined, "address").host))),
  );
  return first?.find((address) => others.every((shared) => shared.includes(address)));
}

/** All hosts that match the target. A host with a tunnel here is not dialled. */
async function findCandidates(
  target: string,
  { openssh }: Access,
  { registry, cluster, hosts, arriving }: Services,
): Promise<{ readonly candidates: readonly Target[]; readonly recorded: readonly RecordedTarget[] }> {
  const { reachable, recorded } = await hosts.find(target).catch((thrown: unknown) => {
    // Without the auth service, hosts with a tunnel stay reachable: by id, and by a unique name.
    const tunnels = registry.find(target, cluster);
    if (tunnels.length === 0) throw thrown;
    requireOwnName(target, tunnels, cluster);
    return { reachable: [], recorded: [] };
  });
  // The auth service learns of a tunnel before it is registered here, and then omits its host.
  if (registry.find(target, cluster).length === 0) await arriving.settled(target, cluster);
  const tunnels = registry.find(target, cluster);
  const here = new Set(tunnels.map(({ identity }) => identity.id));
  const others = reachable.filter(({ identity }) => !here.has(identity.id));
  return { candidates: [...tunnels.map(tunnelTarget), ...others, ...findOpenssh(openssh, target, cluster)], recorded };
}

function requireOwnName(target: string, tunnels: readonly RoutedTunnel[], cluster: string): void {
  const meant = namesMeant(target, cluster);
  if (!tunnels.some(({ identity, sharesName }) => sharesName && !meant.includes(identity.id))) return;
  throw new PlatformError("unavailable", `several hosts are recorded as ${JSON.stringify(target)}, and the auth service is unreachable`, {
    hint: "try again shortly, or use the host's id",
  });
}

/** Time for the host's sshd to accept the connection, ms. */
const dialMs = 10_000;

/**
 * A connection to the sshd of a host without an agent, which first yields the reply that an agent would send. Its start and
 * its end are audited; the traffic in between is only between the user and that sshd.
 */
async function openOpenssh(
  target: OpensshTarget,
  { identity, request, clientAddress }: StreamAsk<"ssh">,
  services: Services,
): Promise<{ readonly channel: Duplex; readonly sessionId: string }> {
  const { id } = target.identity;
  const { hostname } = target.facts;
  const address = parseHostPort(target.peer, 22, `addr of node ${id}`);
  // The proxy's own network: hosts are dialled without an HTTP proxy.
  const socket = await dial(address, { env: {}, timeoutMs: dialMs }).catch((cause: unknown) => {
    throw new PlatformError("unavailable", `the proxy could not reach the sshd of ${hostname}`, {
      cause,
      hint: "check that the host is up, and spec.addr of its node",
    });
  });
  // It stays: a proxy that records waits for the auth service and the user's login before it listens.
  socket.on("error", ignoreError).unshift(encodeStreamReply({ ok: true }));
  const { login } = request.parameters;
  const sessionId = randomUUID();
  const session = { server_id: id, server_name: hostname, user: identity.name, login, sid: sessionId, "addr.remote": clientAddress };
  services.audit.emit({ event: "session.connect", ...session, ...confirmedBy(identity), addr: target.peer });
  socket.once("close", () => {
    services.audit.emit({ event: "session.data", ...session, bytes_transmitted: socket.bytesRead, bytes_received: socket.bytesWritten });
  });
  services.running.add({ identity, host: id, login, channel: socket });
  services.log.info("connected to a host without an agent", { user: identity.name, host: id, session: sessionId, peer: clientAddress });
  return { channel: socket, sessionId };
}

/** The user, and the facts for the decision. */
interface RouteFacts {
  readonly identity: UserIdentity;
  readonly roles: readonly Role[];
  readonly locks: readonly Lock[];
  readonly clientIp: string;
  readonly now: Date;
}

/** The hosts without an agent that match a target: an id, a name, or either followed by `.cluster`. Pure. */
export function findOpenssh(nodes: readonly Node[], target: string, cluster: string): readonly OpensshTarget[] {
  const names = new Set(namesMeant(target, cluster));
  return nodes.flatMap(({ metadata, spec }) => {
    const isMeant = names.has(canonicalName(metadata.name)) || names.has(canonicalName(spec.hostname));
    if (!isMeant || spec.addr === undefined) return [];
    const facts = { hostname: spec.hostname, labels: metadata.labels ?? {} };
    return [{ via: "sshd", identity: { id: metadata.name }, facts, peer: spec.addr }];
  });
}

/**
 * None of our programs on that host checks the login, and its sshd accepts every login in the certificate. So each of them must be allowed
 * there: a login that the roles allow only on other hosts would work. Throws `denied`. Pure.
 */
export function requireEveryLogin(target: OpensshTarget, { identity, roles, locks, clientIp, now }: RouteFacts): void {
  const node = { id: target.identity.id, name: target.facts.hostname, labels: target.facts.labels };
  for (const login of sshLogins(identity)) {
    try {
      authorize({ identity, roles, locks, ask: { kind: "ssh", node, login }, clientIp, now });
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "denied") throw thrown;
      throw new PlatformError("denied", `${thrown.message}; ${node.name} has no agent that could refuse this login of the certificate`, {
        cause: thrown,
        hint: "a host without an agent is reachable only for users whose roles allow all their logins there",
      });
    }
  }
}
