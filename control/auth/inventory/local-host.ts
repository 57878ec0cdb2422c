import { generateKeyPairSync } from "node:crypto";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { pickTrustedKeys } from "../../../core/api/trusted-keys.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import { generateSshKey, publicLine, toOpensshPrivate } from "../../../core/ssh/keys.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { issueHostCertificates } from "./issue-host-certificates.ts";
import { localSshKey } from "./local-ssh-key.ts";

/**
 * New certificates, and new keys except a proxy's SSH key, for a service in this process, which needs no token: the auth service itself, or its
 * proxy.
 */
export async function issueLocalHost(
  context: Pick<AuthContext, "authorities" | "clusterName" | "now" | "storage">,
  ask: { hostId: string; role: HostRole; names: readonly string[]; pin?: string },
): Promise<HostCredentials> {
  const sshKey = ask.role === "proxy" ? await localSshKey(context.storage, ask.hostId) : generateSshKey().privateKey;
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const tlsPublicKey = tls.publicKey.export({ type: "spki", format: "pem" }).toString();
  const issued = await issueHostCertificates(context, { ...ask, sshPublicKey: publicLine(sshKey, ""), tlsPublicKey });
  return {
    hostId: ask.hostId,
    role: ask.role,
    cluster: context.clusterName,
    sshPrivateKey: toOpensshPrivate(sshKey),
    sshCertificate: issued.sshCertificate,
    tlsPrivateKey: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    tlsCertificate: issued.tlsCertificate,
    ...pickTrustedKeys(trustedKeys(context.authorities)),
  };
}
