import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { clientAddressHeader, toConnectError } from "../../../core/api/auth-call.ts";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { RateLimit } from "../../limits/request-limit.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Caller, callerName } from "./caller.ts";
import { type MethodName, requirePermission } from "./permissions.ts";

/** Context of every method. */
export interface Api {
  readonly context: AuthContext;
  readonly rateLimit: RateLimit;
  /** Throws `unauthenticated` when the connection's certificate was refused. */
  readonly callerOf: (handler: HandlerContext) => Caller;
}

type Service = ServiceImpl<typeof AuthService>;

/** A method's work, for a caller who may call it. */
type Handler<M extends MethodName> = Service[M] extends (request: infer I, handler: HandlerContext) => infer O
  ? (request: I, caller: Caller, signal: AbortSignal) => O
  : never;
/** The work of some methods. */
export type Handlers<M extends MethodName = MethodName> = { readonly [One in M]: Handler<One> };

type AnyWork = (request: unknown, caller: Caller, signal: AbortSignal) => unknown;

/** The service of all methods: each checks the permission, then runs its work; errors take the API's form. */
export function guarded(api: Api, handlers: Handlers): Service {
  const methods = AuthService.methods.map(({ localName, methodKind }) => {
    const method = localName as MethodName;
    const work = handlers[method] as AnyWork;
    return [method, methodKind === "server_streaming" ? serverStream(api, method, work) : unary(api, method, work)] as const;
  });
  return Object.fromEntries(methods) as unknown as Service;
}

function unary(api: Api, method: MethodName, work: AnyWork): (request: unknown, handler: HandlerContext) => Promise<unknown> {
  return async (request, handler) => {
    try {
      return await work(request, await permitted(api, method, handler), handler.signal);
    } catch (thrown) {
      throw refusal(api, method, handler, thrown);
    }
  };
}

function serverStream(api: Api, method: MethodName, work: AnyWork): (request: unknown, handler: HandlerContext) => AsyncGenerator<unknown> {
  return async function* (request, handler) {
    try {
      yield* work(request, await permitted(api, method, handler), handler.signal) as AsyncIterable<unknown>;
    } catch (thrown) {
      throw refusal(api, method, handler, thrown);
    }
  };
}

async function permitted(api: Api, method: MethodName, handler: HandlerContext): Promise<Caller> {
  const caller = api.callerOf(handler);
  await requirePermission(api.context, caller, method);
  const address = onBehalf.has(method) ? clientAddress(caller, handler.requestHeader.get(clientAddressHeader)) : undefined;
  return address === undefined ? caller : { ...caller, address };
}

function refusal({ context, callerOf }: Api, method: MethodName, handler: HandlerContext, thrown: unknown): Error {
  const error = toPlatformError(thrown);
  if (error.code === "internal")
    context.log.error("API call failed", { method, error: thrown, stack: thrown instanceof Error ? thrown.stack : undefined });
  if (thrown instanceof PlatformError && (error.code === "denied" || error.code === "unauthenticated") && !audited.has(method)) {
    const caller = callerOrUndefined(callerOf, handler);
    if (caller !== undefined && caller.kind !== "anonymous") {
      context.audit.emitRefusal({ event: "access.denied", user: callerName(caller), method, error: error.message, "addr.remote": caller.address });
    }
  }
  return toConnectError(error);
}

/** Methods that a proxy's web API calls for users. */
const onBehalf: ReadonlySet<MethodName> = new Set<MethodName>(["getInvite", "acceptInvite"]);

function clientAddress(caller: Caller, told: string | null): string | undefined {
  const trusted = caller.kind === "host" && caller.identity.role === "proxy";
  return trusted && told !== null && /^[0-9A-Za-z.:%[\]]{2,80}$/.test(told) ? told : undefined;
}

/** Methods that record their own refusals, with more facts. */
const audited: ReadonlySet<MethodName> = new Set<MethodName>(["join", "checkJoin", "login", "getInvite", "acceptInvite"]);

function callerOrUndefined(callerOf: Api["callerOf"], handler: HandlerContext): Caller | undefined {
  try {
    return callerOf(handler);
  } catch {
    return undefined;
  }
}
