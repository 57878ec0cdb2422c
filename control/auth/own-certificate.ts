import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { authServerName } from "../../core/transport/alpn.ts";
import type { AuthContext } from "./auth-context.ts";
import { issueLocalHost } from "./inventory/local-host.ts";

/** Interval of checks whether the service's own certificate needs renewal, ms, and its maximum age, ms. */
const renewCheckMs = 3_600_000;
const renewAfterMs = 7 * 24 * 3_600_000;

/** The auth service's own certificate, renewed while it runs. */
export interface OwnCertificate {
  readonly credentials: HostCredentials;
  /** Leaf and authority, PEM, and the key, for TLS: of the authority that a client's SNI names, else of the signing one. */
  chain(servername: string | undefined): { readonly certificate: string; readonly privateKey: string };
  stop(): void;
}

/** One for each trusted key of the host authority: a client that knows only one of two can connect. */
interface Leaves {
  readonly issued: number;
  readonly pins: readonly string[];
  /** The one of the signing key comes first. */
  readonly all: readonly HostCredentials[];
}

/** `renewed` is called after each renewal. */
export async function openOwnCertificate(
  context: AuthContext,
  { id, names, renewed }: { id: string; names: readonly string[]; renewed: () => void },
): Promise<OwnCertificate> {
  const { now, log, authorities } = context;
  const pinsNow = (): readonly string[] => authorities.host.trusted.map(({ pin }) => pin);
  const issue = async (): Promise<Leaves> => {
    const pins = pinsNow();
    const all = await Promise.all(pins.map((pin) => issueLocalHost(context, { hostId: id, role: "auth", names, pin })));
    return { issued: now().getTime(), pins, all };
  };
  let own = await issue();
  let isStopped = false;
  const renew = async (): Promise<void> => {
    const isSame = JSON.stringify(own.pins) === JSON.stringify(pinsNow());
    if (isStopped || (isSame && now().getTime() - own.issued < renewAfterMs)) return;
    own = await issue();
    renewed();
  };
  const renewSoon = (): void => {
    renew().catch((error: unknown) => log.error("could not renew the auth service's own certificate", { error }));
  };
  const timer = setInterval(renewSoon, renewCheckMs).unref();
  authorities.onChange(renewSoon);
  const signing = (): HostCredentials => {
    const [first] = own.all;
    if (first === undefined) throw new Error("the auth service has no certificate");
    return first;
  };
  return {
    get credentials() {
      return signing();
    },
    chain: (servername) => {
      const wanted = own.pins.findIndex((pin) => authServerName(pin) === servername);
      const { tlsCertificate, tlsPrivateKey, hostCaPem } = own.all[wanted] ?? signing();
      // The issuing authority follows directly: a client with a pin reads it from there.
      return { certificate: tlsCertificate + (hostCaPem[Math.max(0, wanted)] ?? ""), privateKey: tlsPrivateKey };
    },
    stop: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
