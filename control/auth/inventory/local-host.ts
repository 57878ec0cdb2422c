import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import { pickTrustedKeys } from "../../../core/api/trusted-keys.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import { fromOpensshPrivate, generateSshKey, publicLine, toOpensshPrivate } from "../../../core/ssh/keys.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { issueHostCertificates } from "./issue-host-certificates.ts";

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

/** The SSH key of the proxy in this process, made once: clients that cannot check certificates recognize its port by it. */
async function localSshKey(storage: Pick<Storage, "get" | "put">, hostId: string): Promise<KeyObject> {
  const key = `/local-ssh-key/${hostId}`;
  const held = await storage.get(key);
  if (held !== undefined) return fromOpensshPrivate(held.value);
  const { privateKey } = generateSshKey();
  try {
    await storage.put({ key, value: toOpensshPrivate(privateKey), expect: "absent" });
    return privateKey;
  } catch (thrown) {
    // Another process of this host was first, during a handover.
    const first = thrown instanceof PlatformError && thrown.code === "already_exists" ? await storage.get(key) : undefined;
    if (first === undefined) throw thrown;
    return fromOpensshPrivate(first.value);
  }
}
