import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { authorityNames } from "../../../core/kinds/authority-kinds.ts";
import { rotationPhases } from "../../../core/resources/rotation.ts";
import { signHost } from "../certificates/sign-host.ts";
import { signUser } from "../certificates/sign-user.ts";
import { listRotations, rotate } from "../rotation/rotate.ts";
import { actorOf } from "./caller.ts";
import { clusterFacts } from "./cluster-facts.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "signUser" | "signHost" | "getRotations" | "rotateAuthority">;

/** Certificates that the authorities sign for admins, and rotation. */
export function authorityMethods(api: Api): Methods {
  const { context } = api;
  return {
    signUser: unary(api, "signUser", async ({ user, sshPublicKey, tlsPublicKey, ttlSeconds, routeKind, routeName }, caller) => {
      const keys = { sshPublicKey, tlsPublicKey };
      const issued = await signUser(context, { user, ...keys, ttlSeconds, routeKind, routeName, actor: actorOf(caller) });
      return { ...issued, cluster: clusterFacts(context) };
    }),
    signHost: unary(api, "signHost", async ({ names, sshPublicKey, ttlSeconds }, caller) => {
      const sshCertificate = await signHost(context, { names, sshPublicKey, ttlSeconds, actor: actorOf(caller) });
      return { sshCertificate, cluster: clusterFacts(context) };
    }),
    getRotations: unary(api, "getRotations", async () => ({ rotationsJson: (await listRotations(context)).map((one) => JSON.stringify(one)) })),
    rotateAuthority: unary(api, "rotateAuthority", async ({ authority, phase: named, graceSeconds, manual }, caller) => {
      const kind = oneOf("authority", authorityNames, authority);
      const phase = named === "" ? undefined : oneOf("phase", rotationPhases, named);
      const after = await rotate(context, { kind, phase, graceSeconds, manual, actor: actorOf(caller) });
      return { rotationsJson: [JSON.stringify(after)] };
    }),
  };
}

function oneOf<T extends string>(what: string, known: readonly T[], text: string): T {
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new PlatformError("invalid", `unknown ${what} ${JSON.stringify(text.slice(0, 64))}; known are ${known.join(", ")}`);
}
