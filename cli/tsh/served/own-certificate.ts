import { X509Certificate } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { withAuth } from "../../profile/reach-cluster.ts";
import type { ResourceCertificate } from "../../profile/resource-certificates.ts";
import { newKeys } from "../../secrets.ts";

interface WantedRoute {
  readonly kind: ServedKind;
  readonly name: string;
  /** The only account there; left out: applications have none. */
  readonly account?: string;
}

/** The user's own certificate, limited to one resource, with a new key. Throws `unsupported` with an older auth service. */
export async function ownCertificate(io: CliIo, profile: Profile, { kind, name, account = "" }: WantedRoute): Promise<ResourceCertificate> {
  const keys = newKeys();
  const { noun } = serviceKinds[kind].served;
  const request = { routeKind: kind, routeName: name, routeAccount: account, tlsPublicKey: keys.tlsPublic };
  const { tlsCertificate } = await withAuth(io, profile, async (client) => {
    try {
      return await client.signOwnUser(request);
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "unsupported") throw thrown;
      throw new PlatformError("unsupported", `the auth service is too old to issue certificates for one ${noun}`, {
        cause: thrown,
        hint: `upgrade the auth service; until then use: tsh proxy ${kind}`,
      });
    }
  });
  const identity = fromX509Certificate(new X509Certificate(tlsCertificate));
  const route = identity.kind === "user" ? identity.route : undefined;
  if (route?.kind === kind && route.name === name && (route.account ?? "") === account) {
    return { kind, name, certificate: tlsCertificate, privateKey: keys.tlsPrivate };
  }
  throw new PlatformError("unavailable", `the auth service sent another certificate than the one for this ${noun}`);
}
