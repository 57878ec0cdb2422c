import { PlatformError } from "../../../core/errors/platform-error.ts";
import { dialTls } from "../../../core/transport/dial/dial.ts";
import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../../core/transport/host-port.ts";
import { internalKubeName, kubeServerName } from "../../../core/transport/kube-names.ts";
import { isEndedBefore } from "../../../core/transport/upgrade/dial-web-port.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";

/** Where kubectl reaches a cluster's proxy. */
export interface KubeAddress extends HostPort {
  /** `tls-server-name`: the name in the proxy's certificate. */
  readonly serverName: string;
}

/** Longest answer, bytes. */
const maxAnswer = 65_536;
/** Time limit of one try, ms. */
const tryMs = 10_000;

/**
 * The address that the proxy states for Kubernetes, or else that of the login. Its TLS is tried with the authorities that kubectl will get, so that what
 * is written works. Throws `unsupported` where kubectl cannot get through, and as `dialTls`.
 */
export async function kubeAddress({ env }: Pick<CliIo, "env">, { facts, hostCaPem: ca }: Profile, proxy: HostPort): Promise<KubeAddress> {
  const answer = await httpsGet(proxy, "/webapi/find", { env, insecure: true, maxBytes: maxAnswer });
  const stated = statedAddress(answer.body.toString("utf8"));
  if (!stated.isEnabled) {
    throw new PlatformError("unsupported", "the proxy does not serve Kubernetes", { hint: `upgrade the proxies of ${facts.cluster}` });
  }
  const address = stated.address ?? proxy;
  // Requests to the auth service have shown it.
  if (isEndedBefore(address)) throw endsTls(address);
  const names = [...new Set([kubeServerName(stated.address?.host ?? proxy.host), internalKubeName])];
  let refused: unknown;
  for (const serverName of names) {
    try {
      const socket = await dialTls(address, { alpn: ["h2", "http/1.1"], servername: serverName, ca }, { env, timeoutMs: tryMs });
      socket.on("error", () => {}).destroy();
      return { ...address, serverName };
    } catch (thrown) {
      refused ??= thrown;
      if (!isOtherName(thrown)) break;
    }
  }
  throw refused;
}

function endsTls(address: HostPort): PlatformError {
  return new PlatformError(
    "unsupported",
    `kubectl itself does not get through to the proxy: something in front of ${formatHostPort(address)} ends TLS`,
    {
      hint: "use `tsh proxy kube <name>`, or `tsh kubectl --kube-cluster=<name>`, which do; or give the proxy an address for kubectl (docs/load-balancers.md)",
    },
  );
}

/** What `/webapi/find` says of Kubernetes; without an address it is at that of the web. Pure. */
export function statedAddress(answer: string): { readonly isEnabled: boolean; readonly address: HostPort | undefined } {
  try {
    const { proxy } = JSON.parse(answer) as { readonly proxy?: { readonly kube?: unknown; readonly ssh?: { readonly public_addr?: unknown } } };
    const { enabled, public_addr: address } = (proxy?.kube ?? {}) as { readonly enabled?: unknown; readonly public_addr?: unknown };
    const isOwn = typeof address === "string" && address !== "" && address !== proxy?.ssh?.public_addr;
    const parsed = isOwn ? parseHostPort(address, undefined, "the proxy's address for Kubernetes") : undefined;
    return { isEnabled: enabled === true, address: parsed !== undefined && parsed.port > 0 ? parsed : undefined };
  } catch {
    return { isEnabled: false, address: undefined };
  }
}

/** The certificate is for other names. */
function isOtherName(thrown: unknown): boolean {
  for (let cause = thrown; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && cause.code === "ERR_TLS_CERT_ALTNAME_INVALID") return true;
  }
  return false;
}
