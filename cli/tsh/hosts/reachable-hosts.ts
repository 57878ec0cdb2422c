import { openAuthClient } from "../../../core/api/auth-client.ts";
import type { Node } from "../../../core/resources/node.ts";
import { type HostFilter, listHosts } from "../../host-filter.ts";
import type { CliIo } from "../../io.ts";
import { dialProxy } from "../../profile/dial-proxy.ts";
import { otherAuthority } from "../../profile/other-authority.ts";
import { type Profile, requireValid } from "../../profile/profile.ts";

/** The hosts that match and that the roles allow, by name. */
export async function reachableHosts(io: CliIo, { facts, secrets, hostCaPem }: Profile, filter: HostFilter): Promise<readonly Node[]> {
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialProxy(facts, io), ca: hostCaPem, credentials });
  return await listHosts(connection.client, filter).catch((thrown: unknown) => {
    throw otherAuthority(thrown, facts.proxy);
  });
}
