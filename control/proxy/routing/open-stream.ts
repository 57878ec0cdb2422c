import type { Duplex } from "node:stream";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import type { StreamKind } from "../../../core/kinds/stream-kinds.ts";
import { auditRefusal } from "./audit-refusal.ts";
import { openApp } from "./open-app.ts";
import { openJoin } from "./open-join.ts";
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
