import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto";
import { type AuthorityKeys, decodeAuthorityKeys, makeAuthorityKeys } from "../../control/auth/authority/authority-keys.ts";
import { issueHost } from "../../control/auth/authority/issue-host.ts";
import { issueUser } from "../../control/auth/authority/issue-user.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import { generateSshKey, toOpensshPrivate } from "../../core/ssh/keys.ts";

/** A user's TLS credentials. */
export interface UserTls {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

/** The authorities of a cluster inside a test, and their certificates. */
export interface InsideAuthorities {
  readonly cluster: string;
  readonly userCaPem: string;
  readonly hostCaPem: string;
  user(name: string, facts?: Partial<Omit<UserIdentity, "kind" | "name">>): Promise<UserTls>;
  host(name: string): Promise<HostCredentials>;
}

export async function insideAuthorities(cluster = "inside"): Promise<InsideAuthorities> {
  const made = async (kind: "user" | "host"): Promise<AuthorityKeys> =>
    await decodeAuthorityKeys(kind, await makeAuthorityKeys({ kind, cluster, now: new Date() }));
  const [users, hosts] = await Promise.all([made("user"), made("host")]);
  const [userCaPem, hostCaPem] = [users.certificate.toString("pem"), hosts.certificate.toString("pem")];
  const inAnHour = (): Date => new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);
  return {
    cluster,
    userCaPem,
    hostCaPem,
    user: async (name, facts = {}) => {
      const { key, request } = newKeys();
      const identity = { kind: "user", name, roles: ["access"], traits: {}, principals: {}, cluster, validBefore: inAnHour(), ...facts } as const;
      return { cert: (await issueUser(users, identity, request)).tlsCertificate, key };
    },
    host: async (name) => {
      const { key, sshPrivateKey, request } = newKeys();
      const hostId = randomUUID();
      const identity = { kind: "host", id: hostId, role: "node", cluster, names: [name], validBefore: inAnHour() } as const;
      const issued = await issueHost(hosts, identity, request);
      const trust = { hostCaPem: [hostCaPem], userCaPem: [userCaPem], hostCaSsh: [hosts.sshPublicLine], userCaSsh: [users.sshPublicLine] };
      return { hostId, role: "node", cluster, sshPrivateKey, tlsPrivateKey: key, ...issued, ...trust };
    },
  };
}

function newKeys() {
  const ssh = generateSshKey();
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const key = tls.export({ type: "pkcs8", format: "pem" }).toString();
  const tlsPublicKey = createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "pem" }).toString();
  const request = { sshPublicKey: ssh.publicLine, tlsPublicKey, now: new Date() };
  return { key, sshPrivateKey: toOpensshPrivate(ssh.privateKey), request };
}
