import { joinRefusal } from "../../../core/access/authorize-join.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { isServedKind, servedName } from "../../../core/kinds/service-kinds.ts";
import type { ClientRequest, RoutingServices } from "./routing-services.ts";
import type { Target } from "./target.ts";

export interface Refusal {
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
  if (request !== undefined && isServedKind(request.kind)) {
    audit.emitRefusal({ event: "auth", error: error.message.slice(0, 2000), ...who, ...servedName(request.kind, request.target) });
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
