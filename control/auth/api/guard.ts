import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { browserSessionHeader, clientAddressHeader, toConnectError, unusedSessionHeader } from "../../../core/api/auth-call.ts";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { RateLimit } from "../../limits/request-limit.ts";
import type { AuthContext } from "../auth-context.ts";
import { useSession } from "../browser-sessions/find-session.ts";
import { requireHost } from "../inventory/host-records.ts";
import { type Caller, callerName, type UserCaller } from "./caller.ts";
import { type MethodName, requirePermission } from "./permissions.ts";

/** Context of every method. */
export interface Api {
  readonly context: AuthContext;
  readonly rateLimit: RateLimit;
  /** Checks of join tokens, refused or not: a bucket of their own, so that checks do not keep hosts at the same address from joining. */
  readonly joinChecks: RateLimit;
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
    const call: Call = { method, handler };
    try {
      const caller = await permitted(api, call);
      call.isWorking = true;
      return await work(request, caller, handler.signal);
    } catch (thrown) {
      throw refusal(api, call, thrown);
    }
  };
}

function serverStream(api: Api, method: MethodName, work: AnyWork): (request: unknown, handler: HandlerContext) => AsyncGenerator<unknown> {
  return async function* (request, handler) {
    const call: Call = { method, handler };
    try {
      const caller = await permitted(api, call);
      call.isWorking = true;
      yield* work(request, caller, handler.signal) as AsyncIterable<unknown>;
    } catch (thrown) {
      throw refusal(api, call, thrown);
    }
  };
}

interface Call {
  readonly method: MethodName;
  readonly handler: HandlerContext;
  /** The user of a browser, once the session is known. */
  browser?: UserCaller;
  /** Its caller may make it. */
  isWorking?: true;
}

async function permitted(api: Api, call: Call): Promise<Caller> {
  const { method, handler } = call;
  const caller = api.callerOf(handler);
  const session = handler.requestHeader.get(browserSessionHeader);
  if (session !== null) {
    const { requestHeader } = handler;
    const isUnused = requestHeader.has(unusedSessionHeader);
    call.browser = await browserCaller(api.context, { caller, session, isUnused, address: requestHeader.get(clientAddressHeader) });
    await requirePermission(api.context, call.browser, method);
    return call.browser;
  }
  await requirePermission(api.context, caller, method);
  const address = onBehalf.has(method) ? clientAddress(caller, handler.requestHeader.get(clientAddressHeader)) : undefined;
  return address === undefined ? caller : { ...caller, address };
}

interface BrowserCall {
  readonly caller: Caller;
  readonly session: string;
  readonly isUnused: boolean;
  readonly address: string | null;
}

/** The user for whose browser a proxy calls. Throws `denied` for another caller, `unauthenticated` for a session that has ended. */
async function browserCaller(context: AuthContext, { caller, session: text, isUnused, address: stated }: BrowserCall): Promise<UserCaller> {
  if (caller.kind !== "host" || caller.identity.role !== "proxy" || context.now() >= caller.identity.validBefore)
    throw new PlatformError("denied", "access denied: only proxies call for browsers");
  await requireHost(context.storage, "proxy", caller.identity.id);
  const { session, identity } = await useSession(context, text, { isUnused });
  return { kind: "user", identity, session, proxyId: caller.identity.id, address: clientAddress(caller, stated) ?? caller.address };
}

function refusal({ context, callerOf }: Api, { method, handler, browser, isWorking }: Call, thrown: unknown): Error {
  const isRecorded = isWorking === true && audited.has(method);
  const error = toPlatformError(thrown);
  if (error.code === "internal")
    context.log.error("API call failed", { method, error: thrown, stack: thrown instanceof Error ? thrown.stack : undefined });
  const reason = refusedFor(error);
  if (thrown instanceof PlatformError && (reason.code === "denied" || reason.code === "unauthenticated") && !isRecorded) {
    // A session that has ended is nothing to record for every call of its page.
    const isEnded = browser === undefined && reason.code === "unauthenticated" && handler.requestHeader.has(browserSessionHeader);
    const caller = isEnded ? undefined : (browser ?? callerOrUndefined(callerOf, handler));
    if (caller !== undefined && caller.kind !== "anonymous") {
      context.audit.emitRefusal({ event: "access.denied", user: callerName(caller), method, error: reason.message, "addr.remote": caller.address });
    }
  }
  return toConnectError(error);
}

/** The reason of a refusal, also where the caller learns only that there is nothing to be found. */
function refusedFor(error: PlatformError): PlatformError {
  return error.code === "not_found" && error.cause instanceof PlatformError ? error.cause : error;
}

/** Methods that a proxy's web API calls for users. */
const onBehalf: ReadonlySet<MethodName> = new Set<MethodName>([
  "getInvite",
  "acceptInvite",
  "createBrowserSession",
  "startPasskeyLogin",
  "endAppSession",
]);

function clientAddress(caller: Caller, reported: string | null): string | undefined {
  const trusted = caller.kind === "host" && caller.identity.role === "proxy";
  return trusted && reported !== null && /^[0-9A-Za-z.:%[\]]{2,80}$/.test(reported) ? reported : undefined;
}

/** Methods whose work records its own refusals, with more facts. */
const audited: ReadonlySet<MethodName> = new Set<MethodName>([
  "join",
  "checkJoin",
  "login",
  "getInvite",
  "acceptInvite",
  "createBrowserSession",
  "changePassword",
  "startAuthenticator",
  "confirmAuthenticator",
  "createConfirmation",
  "startPasskey",
  "addPasskey",
  "removePasskey",
  "signSession",
]);

function callerOrUndefined(callerOf: Api["callerOf"], handler: HandlerContext): Caller | undefined {
  try {
    return callerOf(handler);
  } catch {
    return undefined;
  }
}
