import { PlatformError } from "../../../core/errors/platform-error.ts";
import { authorityNames } from "../../../core/kinds/authority-kinds.ts";
import { writeDocument, writeDocuments } from "../../../core/resources/document.ts";
import { rotationDocument, rotationPhases } from "../../../core/resources/rotation.ts";
import { signHost } from "../certificates/sign-host.ts";
import { signRelayedHost, signRelayedUser } from "../certificates/sign-relayed.ts";
import { signUser } from "../certificates/sign-user.ts";
import { listRotations, rotate } from "../rotation/rotate.ts";
import { actorOf } from "./caller.ts";
import { clusterFacts } from "./cluster-methods.ts";
import type { Api, Handlers } from "./guard.ts";

/** Certificates that the authorities sign for admins, and rotation. */
export function authorityMethods(api: Api): Handlers<"signUser" | "signHost" | "getRotations" | "rotateAuthority"> {
  const { context } = api;
  return {
    signUser: async ({ user, sshPublicKey, tlsPublicKey, ttlSeconds, routeKind, routeName }, caller) => {
      const keys = { sshPublicKey, tlsPublicKey };
      const issued = await signUser(context, { user, ...keys, ttlSeconds, routeKind, routeName, actor: actorOf(caller) });
      return { ...issued, cluster: clusterFacts(context) };
    },
    signHost: async ({ names, sshPublicKey, ttlSeconds }, caller) => {
      const sshCertificate = await signHost(context, { names, sshPublicKey, ttlSeconds, actor: actorOf(caller) });
      return { sshCertificate, cluster: clusterFacts(context) };
    },
    getRotations: async () => ({ rotationsJson: writeDocuments(rotationDocument, await listRotations(context)) }),
    rotateAuthority: async ({ authority, phase: named, graceSeconds, manual }, caller) => {
      const kind = oneOf("authority", authorityNames, authority);
      const phase = named === "" ? undefined : oneOf("phase", rotationPhases, named);
      const after = await rotate(context, { kind, phase, graceSeconds, manual, actor: actorOf(caller) });
      return { rotationsJson: [writeDocument(rotationDocument, after)] };
    },
  };
}

/** Methods for proxies that record between users and hosts. */
export function relayMethods(api: Api): Handlers<"signRelayedHost" | "signRelayedUser"> {
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

function oneOf<T extends string>(what: string, known: readonly T[], text: string): T {
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new PlatformError("invalid", `unknown ${what} ${JSON.stringify(text.slice(0, 64))}; known are ${known.join(", ")}`);
}
