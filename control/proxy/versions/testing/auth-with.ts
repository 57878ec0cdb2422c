import { createClient, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { fromConnectError } from "../../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { AuthService } from "../../../../core/api/generated/platform/auth/v1/auth_pb.ts";

/** An auth service that has these methods alone. */
export function authWith(methods: Partial<ServiceImpl<typeof AuthService>>): AuthClient {
  const transport = createRouterTransport((router) => void router.service(AuthService, methods));
  return createClient(AuthService, {
    unary: (...call) =>
      transport.unary(...call).catch((thrown: unknown) => {
        throw fromConnectError(thrown);
      }),
    stream: transport.stream,
  });
}
