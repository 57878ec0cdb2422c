import { randomUUID } from "node:crypto";
import { type AuthorityKeys, decodeAuthorityKeys, makeAuthorityKeys } from "../../control/auth/authority/authority-keys.ts";
import { issueHost, issueUser } from "../../control/auth/authority/issue-certificates.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { HostIdentity, UserIdentity } from "../../core/identity/identity.ts";
import { toOpensshPrivate } from "../../core/ssh/keys.ts";
import { generateKeys, type NewKeys, publicKeys, type UserKeys } from "./user-keys.ts";

/** The authorities of a cluster inside a test, and their certificates. */
export interface InsideAuthorities {
  readonly cluster: string;
  readonly userCaPem: string;
  readonly hostCaPem: string;
  readonly userCaSsh: string;
  readonly hostCaSsh: string;
  user(name: string, facts?: Partial<Omit<UserIdentity, "kind" | "name">>, keys?: NewKeys): Promise<UserKeys>;
  /** Default: a node, for an hour. */
  host(name: string, facts?: Partial<Pick<HostIdentity, "role" | "validBefore">>): Promise<HostCredentials>;
}

export async function insideAuthorities(cluster = "inside"): Promise<InsideAuthorities> {
  const made = async (kind: "user" | "host"): Promise<AuthorityKeys> =>
    await decodeAuthorityKeys(kind, await makeAuthorityKeys({ kind, cluster, now: new Date() }));
  const [users, hosts] = await Promise.all([made("user"), made("host")]);
  const [userCaPem, hostCaPem] = [users.certificate.toString("pem"), hosts.certificate.toString("pem")];
  const [userCaSsh, hostCaSsh] = [users.sshPublicLine, hosts.sshPublicLine];
  const inAnHour = (): Date => new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);
  return {
    cluster,
    userCaPem,
    hostCaPem,
    userCaSsh,
    hostCaSsh,
    user: async (name, facts = {}, keys = generateKeys()) => {
      const identity = { kind: "user", name, roles: ["access"], traits: {}, principals: {}, cluster, validBefore: inAnHour(), ...facts } as const;
      return { ...keys, ...(await issueUser(users, identity, { ...publicKeys(keys), now: new Date() })) };
    },
    host: async (name, { role = "node", validBefore = inAnHour() } = {}) => {
      const keys = generateKeys();
      const hostId = randomUUID();
      const identity = { kind: "host", id: hostId, role, cluster, names: [name], validBefore } as const;
      const issued = await issueHost(hosts, identity, { ...publicKeys(keys), now: new Date() });
      const trust = { hostCaPem: [hostCaPem], userCaPem: [userCaPem], hostCaSsh: [hostCaSsh], userCaSsh: [userCaSsh] };
      const own = { sshPrivateKey: toOpensshPrivate(keys.sshPrivateKey), tlsPrivateKey: keys.tlsPrivateKey };
      return { hostId, role, cluster, ...own, ...issued, ...trust };
    },
  };
}
