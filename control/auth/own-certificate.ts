import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { AuthContext } from "./auth-context.ts";
import { issueLocalHost } from "./inventory/local-host.ts";

/** How often the service looks whether its own certificate needs renewal, ms, and how old one gets, ms. */
const renewCheckMs = 3_600_000;
const renewAfterMs = 7 * 24 * 3_600_000;

/** The auth service's own certificate, renewed while it runs. */
export interface OwnCertificate {
  readonly credentials: HostCredentials;
  /** Leaf and authority, PEM, and the key, for TLS. */
  chain(): { readonly certificate: string; readonly privateKey: string };
  stop(): void;
}

/** `renewed` is called after each renewal. */
export async function openOwnCertificate(
  context: AuthContext,
  { id, names, renewed }: { id: string; names: readonly string[]; renewed: () => void },
): Promise<OwnCertificate> {
  const { now, log } = context;
  const issue = (): Promise<HostCredentials> => issueLocalHost(context, { hostId: id, role: "auth", names });
  let own = { credentials: await issue(), issued: now().getTime() };
  const renew = async (): Promise<void> => {
    if (now().getTime() - own.issued < renewAfterMs) return;
    own = { credentials: await issue(), issued: now().getTime() };
    renewed();
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.error("the auth service's own certificate was not renewed", { error }));
  }, renewCheckMs).unref();
  return {
    get credentials() {
      return own.credentials;
    },
    chain: () => ({
      certificate: own.credentials.tlsCertificate + own.credentials.hostCaPem.join(""),
      privateKey: own.credentials.tlsPrivateKey,
    }),
    stop: () => clearInterval(timer),
  };
}
