import { login } from "../login/login.ts";
import { acceptInvite, createInvite, getInvite } from "../users/invites.ts";
import { unlockUser } from "../users/users.ts";
import { actorOf } from "./caller.ts";
import { clusterFacts } from "./cluster-methods.ts";
import type { Api, Handlers } from "./guard.ts";

export function userMethods(api: Api): Handlers<"login" | "getInvite" | "acceptInvite" | "createInvite" | "unlockUser"> {
  const { context, rateLimit } = api;
  return {
    login: async (request, { address }) => {
      rateLimit.take(address, context.now());
      const { user, password, code, sshPublicKey, tlsPublicKey, ttlSeconds } = request;
      const issued = await login(context, { user, password, code, sshPublicKey, tlsPublicKey, ttlSeconds, address });
      return { ...issued, cluster: clusterFacts(context) };
    },
    getInvite: async ({ token }, { address }) => {
      rateLimit.take(address, context.now());
      return { ...(await getInvite(context, { token, address })), clusterName: context.clusterName };
    },
    acceptInvite: async ({ token, password, code }, { address }) => {
      rateLimit.take(address, context.now());
      return { user: await acceptInvite(context, { token, password, code, address }) };
    },
    createInvite: async ({ user, ttlSeconds }, caller) => {
      const actor = actorOf(caller);
      const { token, expires } = await createInvite(context, { user, ttlSeconds, actor });
      return { token, expires: expires.toISOString() };
    },
    unlockUser: async ({ user }, caller) => {
      const actor = actorOf(caller);
      return { wasLocked: await unlockUser(context, { user, actor }) };
    },
  };
}
