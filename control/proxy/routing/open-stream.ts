import type { Duplex } from "node:stream";
import { joinRefusal } from "../../../core/access/authorize-join.ts";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { isServedKind, servedName } from "../../../core/kinds/service-kinds.ts";
import type { StreamKind } from "../../../core/kinds/stream-kinds.ts";
import type { Target } from "./find-target.ts";
import { openJoin } from "./open-join.ts";
import { openServed } from "./open-served.ts";
import { openSsh } from "./open-ssh.ts";
import { openThread } from "./open-thread.ts";
import type { ChosenHost, ClientRequest, RoutingServices, StreamAsk } from "./routing-services.ts";

type Handler<Kind extends StreamKind> = (ask: StreamAsk<Kind>, services: RoutingServices, chosen: ChosenHost) => Promise<Duplex>;

/** The handler of every kind of stream. Only that of SSH knows of recording at the proxy. */
const handlers: { readonly [Kind in StreamKind]: Handler<Kind> } = {
  ssh: openSsh,
  join: openJoin,
  app: openServed,
  db: openServed,
  kube: openServed,
  cancel: openThread,
};

/**
 * Authorizes and opens a channel to the agent, with the request already written to it: next comes the agent's
 * StreamReply. A refusal is audited and thrown as PlatformError.
 */
export async function openStream(ask: StreamAsk, services: RoutingServices, chosen: ChosenHost = { host: undefined }): Promise<Duplex> {
  const { identity, request, clientAddress } = ask;
  try {
    const open = handlers[request.kind] as Handler<StreamKind>;
    return await open(ask, services, chosen);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    auditRefusal({ error, clientAddress, user: identity.name, request, host: chosen.host }, services);
    throw error;
  }
}

interface Refusal {
  readonly error: PlatformError;
  readonly clientAddress: string;
  readonly user?: string | undefined;
  readonly request?: ClientRequest | undefined;
  readonly host?: Pick<Target, "identity" | "facts"> | undefined;
}

/** Records every refusal of a user in the audit log with its reason; an internal error to the log in full. */
export function auditRefusal(refusal: Refusal, { audit, log }: Pick<RoutingServices, "audit" | "log">): void {
  const { error, clientAddress, user, request, host } = refusal;
  const level = error.code === "internal" ? "error" : "info";
  log[level]("stream refused", { user, target: request?.target, peer: clientAddress, code: error.code, error });
  const who = { "addr.remote": clientAddress, ...(user !== undefined && { user: user.slice(0, 256) }) };
  if (request?.kind === "join") {
    audit.emitRefusal({ event: "auth", error: joinRefusal(error).slice(0, 2000), ...who, sid: request.target.slice(0, 256) });
    return;
  }
  // Requests to cancel are about databases alone.
  const served = request?.kind === "cancel" ? "db" : request?.kind;
  if (request !== undefined && served !== undefined && isServedKind(served)) {
    audit.emitRefusal({ event: "auth", error: error.message.slice(0, 2000), ...who, ...servedName(served, request.target) });
    return;
  }
  const login = request?.kind === "ssh" ? request.parameters.login : "";
  const name = host?.facts.hostname ?? request?.target.slice(0, 256);
  audit.emitRefusal({
    event: "auth",
    error: error.message.slice(0, 2000),
    ...who,
    ...(login !== "" && { login: login.slice(0, 256) }),
    ...(name !== undefined && { server_name: name }),
    ...(host !== undefined && { server_id: host.identity.id }),
  });
}
