import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { type Caller, callerName } from "./caller.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "signRelayedHost" | "signRelayedUser">;

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Methods {
  const { context } = api;
  const actor = (caller: Caller) => ({ name: callerName(caller), address: caller.address });
  return {
    signRelayedHost: unary(api, "signRelayedHost", async ({ host, sshPublicKey }, caller) => ({
      sshCertificate: await signRelayedHost(context, { host, sshPublicKey, actor: actor(caller) }),
    })),
    signRelayedUser: unary(api, "signRelayedUser", async ({ host, sshPublicKey, proof, signature, clientAddress }, caller) => ({
      sshCertificate: await signRelayedUser(context, { host, sshPublicKey, proof, signature, clientAddress, actor: actor(caller) }),
    })),
  };
}
