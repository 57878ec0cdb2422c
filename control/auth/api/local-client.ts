import { createClient, createRouterTransport } from "@connectrpc/connect";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { fromConnectError, withOurErrors } from "../../../core/api/auth-error.ts";
import { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { AuthContext } from "../auth-context.ts";
import type { RateLimit } from "../login/rate-limit.ts";
import { authRoutes, maxRequest } from "./auth-routes.ts";
import type { Caller } from "./caller.ts";

/** A client within this process: no TLS, the same permissions and checks as over the wire. Calls throw PlatformError. */
export function localClient(deps: { context: AuthContext; rateLimit: RateLimit; caller: () => Caller; shutdown: AbortSignal }): AuthClient {
  const { context, rateLimit, caller, shutdown } = deps;
  const transport = createRouterTransport(authRoutes({ context, rateLimit, callerOf: caller }), {
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
