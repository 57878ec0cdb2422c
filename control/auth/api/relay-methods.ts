import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { actorOf } from "./caller.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "signRelayedHost" | "signRelayedUser">;

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Methods {
  const { context } = api;
  return {
    signRelayedHost: unary(api, "signRelayedHost", async ({ host, sshPublicKey }, caller) => ({
      sshCertificate: await signRelayedHost(context, { host, sshPublicKey, actor: actorOf(caller) }),
    })),
    signRelayedUser: unary(api, "signRelayedUser", async ({ host, sshPublicKey, proof, signature, clientAddress }, caller) => ({
      sshCertificate: await signRelayedUser(context, { host, sshPublicKey, proof, signature, clientAddress, actor: actorOf(caller) }),
    })),
  };
}
