import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { joinRefusal } from "../../../core/access/authorize-join.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ActiveSession } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { encodeStreamRequest, type StreamRequest } from "../../../core/transport/stream-request.ts";
import type { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import type { TunnelRegistry } from "../tunnels/registry.ts";
import { openMs, type Tunnel } from "../tunnels/tunnel.ts";
import type { AccessCache } from "./access-cache.ts";
import type { AuditQueue } from "./audit-queue.ts";
import { findTarget } from "./find-target.ts";
import { openJoin } from "./open-join.ts";
import { openOpenssh } from "./open-openssh.ts";
import { findOpenssh, type OpensshTarget, requireEveryLogin } from "./openssh-target.ts";
import type { RunningStreams } from "./running-streams.ts";

export interface RoutingServices {
  readonly log: Log;
  readonly access: AccessCache;
  readonly registry: TunnelRegistry;
  /** The session that runs under this id. */
  readonly findSession: (sid: string) => Promise<ActiveSession | undefined>;
  readonly expected: ExpectedHosts;
  readonly running: RunningStreams;
  readonly audit: AuditQueue;
  readonly cluster: string;
  readonly now: () => Date;
}

export interface StreamAsk {
  readonly identity: UserIdentity;
  readonly request: Pick<StreamRequest, "kind" | "target" | "login">;
  /** `ip:port` of the client. */
  readonly clientAddress: string;
}

/**
 * Authorizes and opens a channel to the agent, on which the request has been written: what comes next on it is the agent's
 * StreamReply. A refusal is audited and thrown as PlatformError.
 */
export async function openStream(ask: StreamAsk, services: RoutingServices): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  let chosen: Tunnel | OpensshTarget | undefined;
  try {
    if (request.kind === "join") return await openJoin(ask, services);
    if (request.kind !== "ssh") throw new PlatformError("unsupported", `streams of kind ${String(request.kind)} are not routed here`);
    const access = await services.access.current();
    await services.expected.settled(request.target, services.cluster);
    const { target, login } = request;
    const openssh = findOpenssh(access.openssh, target, services.cluster);
    const candidates: readonly (Tunnel | OpensshTarget)[] = [...services.registry.find(target, services.cluster), ...openssh];
    const { roles, locks } = access;
    const facts = { identity, roles, locks, clientIp: ipOf(clientAddress), now: services.now() };
    chosen = findTarget({ target, candidates, login, ...facts });
    if ("addr" in chosen) {
      requireEveryLogin(chosen, facts);
      return await openOpenssh(chosen, ask, services);
    }
    const tunnel = chosen;
    const channel = await tunnel.openStream(openMs);
    const sessionId = randomUUID();
    channel.write(encodeStreamRequest({ kind: "ssh", target, login, clientAddress, sessionId, accessRevision: access.revision }));
    services.running.add({ identity, host: tunnel.identity.id, login, channel });
    services.log.info("stream opened", { user: identity.name, host: tunnel.identity.id, session: sessionId, peer: clientAddress });
    return channel;
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity.name, request, host: chosen }, services);
    throw error;
  }
}

export interface Refusal {
  readonly error: PlatformError;
  readonly clientAddress: string;
  readonly user?: string | undefined;
  readonly request?: Pick<StreamRequest, "kind" | "target" | "login"> | undefined;
  readonly host?: Pick<OpensshTarget, "identity" | "facts"> | undefined;
}

/** Every refusal of a person goes to the audit log with its reason; an internal error to the log in full. */
export function auditRefusal(refusal: Refusal, { audit, log }: Pick<RoutingServices, "audit" | "log">): void {
  const { error, clientAddress, user, request, host } = refusal;
  const level = error.code === "internal" ? "error" : "info";
  log[level]("stream refused", { user, target: request?.target, peer: clientAddress, code: error.code, error });
  const who = { "addr.remote": clientAddress, ...(user !== undefined && { user: user.slice(0, 256) }) };
  if (request?.kind === "join") {
    audit.emitRefusal({ event: "auth", error: joinRefusal(error).slice(0, 2000), ...who, sid: request.target.slice(0, 256) });
    return;
  }
  const name = host?.facts.hostname ?? request?.target.slice(0, 256);
  audit.emitRefusal({
    event: "auth",
    error: error.message.slice(0, 2000),
    ...who,
    ...(request !== undefined && request.login !== "" && { login: request.login.slice(0, 256) }),
    ...(name !== undefined && { server_name: name }),
    ...(host !== undefined && { server_id: host.identity.id }),
  });
}
