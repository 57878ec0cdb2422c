import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { type Caller, callerName } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"signRelayedHost" | "signRelayedUser">;

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Methods {
  const { context } = api;
  const actor = (caller: Caller) => ({ name: callerName(caller), address: caller.address });
  return {
    signRelayedHost: async ({ host, sshPublicKey }, caller) => ({
      sshCertificate: await signRelayedHost(context, { host, sshPublicKey, actor: actor(caller) }),
    }),
    signRelayedUser: async ({ host, sshPublicKey, proof, signature, clientAddress }, caller) => ({
      sshCertificate: await signRelayedUser(context, { host, sshPublicKey, proof, signature, clientAddress, actor: actor(caller) }),
    }),
  };
}
