import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { authorize, type ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { type ServedKind, serviceKinds } from "../../core/kinds/service-kinds.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import { type Access, requireReadableRoles } from "../access/access-source.ts";
import { acceptUser, refuseUser, tlsUser } from "./accept-user.ts";
import { type ConnectionLease, HeldLeases } from "./connection-limits.ts";
import { strictMs } from "./hold-to-rules.ts";
import { recordRefusal } from "./record-or-log.ts";
import type { ServiceDeps, StreamLife } from "./service.ts";

interface ServedResource {
  readonly name: string;
  readonly labels: Labels;
}

/** A user's stream to a resource; undefined: this agent does not offer it. */
interface ServedStream<Kind extends ServedKind, Resource extends ServedResource> {
  readonly stream: Duplex;
  readonly request: StreamRequest<Kind>;
  readonly resource: Resource | undefined;
}

/** A user's session after the decision, before the user's first own byte. */
export interface ServedSession<Kind extends ServedKind, Resource extends ServedResource> {
  readonly tls: TLSSocket;
  /** The user's, DER. */
  readonly certificate: Buffer | undefined;
  readonly resource: Resource;
  readonly sid: string;
  /** `ip:port`. */
  readonly clientAddress: string;
  /** What the grant was decided by. */
  readonly access: Access;
  readonly grant: ServedGrant<Kind>;
  /** Undefined where roles set no limit. */
  readonly lease: ConnectionLease | undefined;
  /** The same decision by what holds now, about a session that is open: it does not end because its certificate has expired. Throws as `authorize`. */
  readonly judge: (newer: Access) => ServedGrant<Kind>;
}

/**
 * Serves a stream of a kind whose sessions are a connection of the user's own TLS each: ends the TLS, decides, records a refusal and sends it inside that
 * TLS, runs the session. Throws only before the reply to the proxy.
 */
export async function serveServed<Kind extends ServedKind, Resource extends ServedResource>(
  { stream, request, resource }: ServedStream<Kind, Resource>,
  run: (session: ServedSession<Kind, Resource>) => Promise<void>,
  deps: ServiceDeps,
  life: StreamLife,
): Promise<void> {
  if (resource === undefined) {
    const { noun } = serviceKinds[request.kind].served;
    throw new PlatformError("not_found", `the agent on ${deps.node.name} does not offer ${noun} ${JSON.stringify(request.target)}`);
  }
  const access = await deps.access.at(request.accessRevision);
  const sid = request.sessionId || randomUUID();
  const leases = new HeldLeases(deps, sid);
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { tls, certificate } = await acceptUser({ stream, request, credentials: deps.credentials(), signal: life.signal });
    await serveUser({ tls, certificate, resource, request, sid, access, leases, run }, deps, life);
  } catch (thrown) {
    deps.log.info(`${request.kind} stream failed`, { session: sid, [request.kind]: resource.name, client: request.clientAddress, error: thrown });
  } finally {
    stream.destroy();
    await leases.release();
  }
}

interface Arrived<Kind extends ServedKind, Resource extends ServedResource> {
  readonly tls: TLSSocket;
  readonly certificate: Buffer | undefined;
  readonly resource: Resource;
  readonly request: StreamRequest<Kind>;
  readonly sid: string;
  /** As of the revision by which control decided. */
  readonly access: Access;
  readonly leases: HeldLeases;
  readonly run: (session: ServedSession<Kind, Resource>) => Promise<void>;
}

/** From the user's request to the end of the session. A refusal is sent inside the user's own TLS. */
async function serveUser<Kind extends ServedKind, Resource extends ServedResource>(
  arrived: Arrived<Kind, Resource>,
  deps: ServiceDeps,
  { established }: StreamLife,
): Promise<void> {
  const { tls, certificate, resource, request, sid, leases } = arrived;
  const { clientAddress } = request;
  let grant: ServedGrant<Kind> | undefined;
  let user = "";
  try {
    let { access } = arrived;
    grant = judge(arrived, access, deps);
    if (grant.rules.strictLocks) {
      access = await deps.access.fresh(strictMs);
      grant = judge(arrived, access, deps);
    }
    const { identity } = grant;
    user = identity.name;
    established();
    const lease = await leases.take(grant);
    const again = (newer: Access): ServedGrant<Kind> => judge(arrived, newer, deps, identity);
    await arrived.run({ tls, certificate, resource, sid, clientAddress, access, grant, lease, judge: again });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    const who = { user, served: { kind: request.kind, name: resource.name }, clientAddress, sid };
    await recordRefusal({ error, ...who, grant, deps });
    await refuseUser(tls, error);
  }
}

/**
 * The agent's own decision; it does not trust the one that control has made. `known`: the user of a session that goes on; a proxy's certificate in a
 * user's name is good for its beginning alone.
 */
function judge<Kind extends ServedKind, Resource extends ServedResource>(
  { certificate, resource, request }: Arrived<Kind, Resource>,
  access: Access,
  deps: ServiceDeps,
  known?: UserIdentity,
): ServedGrant<Kind> {
  const { hostId, cluster } = deps.credentials();
  const now = (deps.now ?? (() => new Date()))();
  const hostname = deps.node.name;
  const identity = known ?? tlsUser({ certificate, access, cluster, hostname, now, mayBeRelayed: true });
  requireReadableRoles(identity, access, hostname);
  const { roles, locks } = access;
  const ask = { kind: request.kind as Kind, served: { name: resource.name, labels: resource.labels }, serverId: hostId };
  return authorize({ identity, roles, locks, ask, clientIp: ipOf(request.clientAddress), now, ...(known && { isOpen: true }) });
}
