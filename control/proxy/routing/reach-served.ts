import { generateKeyPairSync } from "node:crypto";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import { enterServed } from "../../../core/transport/enter-served.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, maxStreamMessage, type StreamRequest } from "../../../core/transport/stream-request.ts";
import type { LastAgents } from "./last-agents.ts";
import { openServed } from "./open-served.ts";
import { auditRefusal } from "./open-stream.ts";
import type { ChosenHost, ClientRequest, RoutingServices, StreamAsk } from "./routing-services.ts";

/** A user for whom this proxy opens a resource itself: of a client whose TLS ends here. */
export interface ServedWay<Kind extends ServedKind> {
  /** `ip:port` of the client. */
  readonly clientAddress: string;
  /** The user. Throws `unauthenticated`. */
  readonly identify: () => Promise<UserIdentity>;
  /** The resource that this user has come for. Throws `denied`. */
  readonly request: (identity: UserIdentity) => ClientRequest<Kind> & ClientRequest<ServedKind>;
  /** Agents of the connections before: that of the user's last one is preferred, until it fails. */
  readonly last?: Pick<LastAgents, "of" | "used" | "failed"> | undefined;
  /** Looks at the host that was chosen. Throws `denied`. */
  readonly check?: (request: ClientRequest<Kind>, hostId: string) => void;
  /** A certificate (PEM) for this key in the user's name. Throws the refusal of the auth service. */
  readonly sign: (ask: { readonly hostId: string; readonly tlsPublicKey: string }) => Promise<string>;
  /** Id of the session in the audit log; left out: a new one. */
  readonly sessionId?: string | undefined;
  /** Aborted when the client has left. */
  readonly left?: AbortSignal | undefined;
}

export interface ReachServices extends RoutingServices {
  readonly signal: AbortSignal;
}

/** Time limit of the agent's first reply, ms. */
const replyMs = 15_000;

/**
 * The way to a resource for a client whose TLS ends at this proxy: TLS that ends at an agent, by a certificate of a fresh key that the auth service signs
 * for this connection alone. Nothing is kept, so that no revocation is outlived. A refusal is recorded here, or by the agent. Throws PlatformError.
 */
export async function reachServed<Kind extends ServedKind>(way: ServedWay<Kind>, services: ReachServices): Promise<TLSSocket> {
  const { hostCaPem } = await services.access.current();
  const { identity, hostId, request, channel, user } = await routed(way, services);
  const leave = (): void => void channel.destroy();
  way.left?.addEventListener("abort", leave, { once: true });
  try {
    if (way.left?.aborted) throw new PlatformError("unavailable", "the client has left");
    const frame = { maxLength: maxStreamMessage, timeoutMs: replyMs, what: "agent's reply", signal: services.signal };
    const reply = decodeStreamReply(await readFrame(channel, frame));
    if (!reply.ok) throw reply.error;
    const agent = await enterServed(channel, { request, user, hostCaPem });
    services.running.extend(channel, agent);
    way.last?.used(identity, request, hostId);
    return agent;
  } catch (thrown) {
    channel.destroy();
    // Also when the client has left: clients give an agent that hangs less time.
    way.last?.failed(identity, request, hostId);
    throw thrown;
  } finally {
    way.left?.removeEventListener("abort", leave);
  }
}

interface Routed {
  readonly identity: UserIdentity;
  readonly hostId: string;
  readonly request: StreamRequest<ServedKind>;
  readonly channel: Duplex;
  readonly user: { readonly certificate: string; readonly privateKey: string };
}

/** What control decides. Every refusal is in the audit log. */
async function routed<Kind extends ServedKind>(way: ServedWay<Kind>, services: ReachServices): Promise<Routed> {
  const { clientAddress, sessionId, left } = way;
  let identity: UserIdentity | undefined;
  let request: ClientRequest<ServedKind> | undefined;
  let channel: Duplex | undefined;
  try {
    identity = await way.identify();
    const wanted = way.request(identity);
    request = wanted;
    const chosen: ChosenHost = { host: undefined };
    channel = await openPreferred({ identity, request: wanted, clientAddress, sessionId, left }, { last: way.last, chosen }, services);
    const hostId = chosen.host?.identity.id ?? "";
    way.check?.(wanted, hostId);
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const certificate = await way.sign({ hostId, tlsPublicKey: publicKey.export({ type: "spki", format: "pem" }).toString() });
    const user = { certificate, privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
    // The agent compares kind, target and parameters with those that the proxy has sent; it knows the rest.
    return { identity, hostId, request: { ...wanted, clientAddress: "", sessionId: "", accessRevision: "" }, channel, user };
  } catch (thrown) {
    channel?.destroy();
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity?.name, request }, services);
    throw error;
  }
}

interface Preference extends Pick<ServedWay<ServedKind>, "last"> {
  readonly chosen: ChosenHost;
}

/** A channel to an agent, if possible to that of the user's last connection. Throws as `openServed`. */
async function openPreferred(ask: StreamAsk<ServedKind>, { last, chosen }: Preference, services: ReachServices): Promise<Duplex> {
  const { identity, request } = ask;
  const preferred = last?.of(identity, request);
  try {
    return await openServed({ ...ask, preferred }, services, chosen);
  } finally {
    if (preferred !== undefined && preferred !== chosen.host?.identity.id) last?.failed(identity, request, preferred);
  }
}
