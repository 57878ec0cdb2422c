import { createClient, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { AuthService } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";

/** A client of an auth service that answers these calls; any other call fails with `unimplemented`, as at a service that lacks the method. */
export function authClientOf(calls: Partial<ServiceImpl<typeof AuthService>>): AuthClient {
  return createClient(
    AuthService,
    createRouterTransport(({ service }) => service(AuthService, calls)),
  );
}
