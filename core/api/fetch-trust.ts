import { X509Certificate } from "node:crypto";
import { PlatformError } from "../errors/platform-error.ts";
import type { DialOptions } from "../transport/dial/dial.ts";
import { httpsGet } from "../transport/dial/https-get.ts";
import { formatHostPort, type HostPort } from "../transport/host-port.ts";

const hint =
  "pass the CA pin that `tctl status` prints on the auth host, or serve the proxy's web address with a certificate that this system trusts";

/**
 * Without a CA pin: the cluster's host authorities (PEM), asked from the proxy's web address, whose certificate the system's
 * roots must verify. Throws `unauthenticated` when they do not.
 */
export async function fetchTrust(proxy: HostPort, options: DialOptions): Promise<readonly string[]> {
  const where = `https://${formatHostPort(proxy)}`;
  const answer = await get(proxy, where, options);
  if (answer.status !== 200) {
    throw new PlatformError("unavailable", `${where} does not serve its certificate authorities (status ${answer.status})`, {
      hint: "is this the web address of the proxy?",
    });
  }
  const found = answer.body.toString("latin1").match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  const authorities = found.filter(isAuthority).map((pem) => `${pem}\n`);
  if (authorities.length > 0) return authorities;
  throw new PlatformError("unavailable", `${where} answered without a certificate authority`, { hint: "is this the web address of the proxy?" });
}

async function get(proxy: HostPort, where: string, options: DialOptions): Promise<{ status: number; body: Buffer }> {
  try {
    return await httpsGet(proxy, "/webapi/auth/export?type=tls-host", { ...options, maxBytes: 262_144 });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    throw new PlatformError("unauthenticated", `the certificate of ${where} is not trusted by this system, and no CA pin was given`, {
      cause: thrown,
      hint,
    });
  }
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
