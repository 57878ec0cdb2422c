import { type ConnectRouter, createClient, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import { fromConnectError, withOurErrors } from "../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { RateLimit } from "../../limits/request-limit.ts";
import type { AuthContext } from "../auth-context.ts";
import { auditMethods, recordingMethods } from "./audit-methods.ts";
import { appSessionMethods, browserMethods, terminalMethods } from "./browser-methods.ts";
import type { Caller } from "./caller.ts";
import { appMethods, authorityMethods, databaseMethods, relayMethods } from "./certificate-methods.ts";
import { clusterMethods } from "./cluster-methods.ts";
import { guarded } from "./guard.ts";
import { hostMethods, inventoryMethods, routeMethods } from "./host-methods.ts";
import { passkeyMethods } from "./passkey-methods.ts";
import { offeredMethods, resourceMethods } from "./resource-methods.ts";
import { connectionMethods, sessionMethods } from "./session-methods.ts";
import { channelMethods, maintenanceMethods, rolloutMethods } from "./upgrade-methods.ts";
import { userMethods } from "./user-methods.ts";

/** Maximum size of a request, bytes. */
export const maxRequest = 1_000_000;

/** The whole API, for callers identified by `callerOf`. */
export function authRoutes(deps: {
  context: AuthContext;
  rateLimit: RateLimit;
  joinChecks: RateLimit;
  callerOf: (handler: HandlerContext) => Caller;
}): (router: ConnectRouter) => void {
  const service = guarded(deps, {
    ...clusterMethods(deps),
    ...hostMethods(deps),
    ...userMethods(deps),
    ...browserMethods(deps),
    ...passkeyMethods(deps),
    ...appSessionMethods(deps),
    ...terminalMethods(deps),
    ...resourceMethods(deps),
    ...auditMethods(deps),
    ...authorityMethods(deps),
    ...relayMethods(deps),
    ...databaseMethods(deps),
    ...appMethods(deps),
    ...channelMethods(deps),
    ...connectionMethods(deps),
    ...maintenanceMethods(deps),
    ...inventoryMethods(deps),
    ...offeredMethods(deps),
    ...rolloutMethods(deps),
    ...routeMethods(deps),
    ...recordingMethods(deps),
    ...sessionMethods(deps),
  });
  return (router) => {
    router.service(AuthService, service);
  };
}

/** A client within this process: no TLS, the same permissions and checks as over the wire. Calls throw PlatformError. */
export function localClient(deps: {
  context: AuthContext;
  rateLimit: RateLimit;
  joinChecks: RateLimit;
  caller: () => Caller;
  shutdown: AbortSignal;
}): AuthClient {
  const { context, rateLimit, joinChecks, caller, shutdown } = deps;
  const transport = createRouterTransport(authRoutes({ context, rateLimit, joinChecks, callerOf: caller }), {
    router: { readMaxBytes: maxRequest, shutdownSignal: shutdown },
  });
  const translated = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw fromConnectError(thrown);
    }
  };
  return createClient(AuthService, {
    unary: (...call) => translated(() => transport.unary(...call)),
    stream: async (...call) => withOurErrors(await translated(() => transport.stream(...call))),
  });
}
