import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { connectSsh, type SshConnection } from "../../core/ssh/ssh-client.ts";
import { openSocket, type TestCluster } from "./open-cluster.ts";
import type { UserKeys } from "./user-keys.ts";

/** A user's connection to the jump host of a cluster's proxy. */
export async function jumpSsh(cluster: TestCluster, keys: UserKeys): Promise<SshConnection> {
  return await connectSsh({
    stream: await openSocket(cluster.proxy.addresses.ssh?.port ?? 0),
    username: "anyone",
    privateKey: keys.sshPrivateKey,
    certificate: parseCertificateLine(keys.sshCertificate).blob,
    hostAuthorities: cluster.hostCaSsh,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
}
