import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { AuthContext } from "../auth-context.ts";
import type { RateLimit } from "../login/rate-limit.ts";
import { auditMethods } from "./audit-methods.ts";
import { authorityMethods } from "./authority-methods.ts";
import type { Caller } from "./caller.ts";
import { channelMethods } from "./channel-methods.ts";
import { clusterMethods } from "./cluster-methods.ts";
import { connectionMethods } from "./connection-methods.ts";
import { guarded } from "./guard.ts";
import { hostMethods } from "./host-methods.ts";
import { inventoryMethods } from "./inventory-methods.ts";
import { maintenanceMethods } from "./maintenance-methods.ts";
import { offeredMethods } from "./offered-methods.ts";
import { recordingMethods } from "./recording-methods.ts";
import { relayMethods } from "./relay-methods.ts";
import { resourceMethods } from "./resource-methods.ts";
import { rolloutMethods } from "./rollout-methods.ts";
import { routeMethods } from "./route-methods.ts";
import { sessionMethods } from "./session-methods.ts";
import { userMethods } from "./user-methods.ts";

/** Maximum size of a request, bytes. */
export const maxRequest = 1_000_000;

/** The whole API, for callers identified by `callerOf`. */
export function authRoutes(deps: {
  context: AuthContext;
  rateLimit: RateLimit;
  callerOf: (handler: HandlerContext) => Caller;
}): (router: ConnectRouter) => void {
  const service = guarded(deps, {
    ...clusterMethods(deps),
    ...hostMethods(deps),
    ...userMethods(deps),
    ...resourceMethods(deps),
    ...auditMethods(deps),
    ...authorityMethods(deps),
    ...relayMethods(deps),
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
