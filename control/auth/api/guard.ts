import type { HandlerContext } from "@connectrpc/connect";
import { toConnectError } from "../../../core/api/auth-error.ts";
import { clientAddressHeader } from "../../../core/api/client-address.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import type { RateLimit } from "../login/rate-limit.ts";
import { type Caller, callerName } from "./caller.ts";
import { type MethodName, requirePermission } from "./permissions.ts";

/** Context of every method. */
export interface Api {
  readonly context: AuthContext;
  readonly rateLimit: RateLimit;
  /** Throws `unauthenticated` when the connection's certificate was refused. */
  readonly callerOf: (handler: HandlerContext) => Caller;
}

type Unary<I, O> = (request: I, handler: HandlerContext) => Promise<O>;

/** Checks the permission, then runs the work; errors take the API's form. */
export function unary<I, O>(api: Api, method: MethodName, work: (request: I, caller: Caller) => Promise<O>): Unary<I, O> {
  return async (request, handler) => {
    try {
      return await work(request, await permitted(api, method, handler));
    } catch (thrown) {
      throw refusal(api, method, handler, thrown);
    }
  };
}

/** The same for a method with a streamed answer. */
export function serverStream<I, O>(
  api: Api,
  method: MethodName,
  work: (request: I, caller: Caller, signal: AbortSignal) => AsyncIterable<O>,
): (request: I, handler: HandlerContext) => AsyncGenerator<O> {
  return async function* (request, handler) {
    try {
      yield* work(request, await permitted(api, method, handler), handler.signal);
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
