import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { actorOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"signRelayedHost" | "signRelayedUser">;

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Methods {
  const { context } = api;
  return {
    signRelayedHost: async ({ host, sshPublicKey }, caller) => ({
      sshCertificate: await signRelayedHost(context, { host, sshPublicKey, actor: actorOf(caller) }),
    }),
    signRelayedUser: async ({ host, sshPublicKey, proof, signature, clientAddress }, caller) => ({
      sshCertificate: await signRelayedUser(context, { host, sshPublicKey, proof, signature, clientAddress, actor: actorOf(caller) }),
    }),
  };
}
