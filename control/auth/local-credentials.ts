import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { pickTrustedKeys } from "../../core/api/trusted-keys.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { HostRole } from "../../core/resources/token.ts";
import { fromOpensshPrivate, generateSshKey, publicLine, toOpensshPrivate } from "../../core/ssh/keys.ts";
import { authServerName } from "../../core/transport/alpn.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { Storage } from "../storage/storage.ts";
import type { AuthContext } from "./auth-context.ts";
import { trustedKeys } from "./authority/open-authorities.ts";
import { issueHostCertificates } from "./inventory/host-certificates.ts";

/* Credentials that the auth service issues without a token: for itself, for the proxy in its process, and for tctl on its host. */

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

/** Credentials for `tctl` on this host: full rights for any user who may read the file, which is only its owner. */
export function writeAdminFile(path: string, credentials: HostCredentials, address: HostPort): void {
  const content = {
    certificate: credentials.tlsCertificate,
    privateKey: credentials.tlsPrivateKey,
    ca: credentials.hostCaPem,
    address: formatHostPort({ host: localHost(address.host), port: address.port }),
  };
  // The name is this process's own: two processes may run for a moment.
  const fresh = `${path}.${process.pid}.new`;
  try {
    rmSync(fresh, { force: true });
    const file = openSync(fresh, "wx", 0o600);
    try {
      writeSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
  } catch (cause) {
    throw new PlatformError("unavailable", `could not write ${path}: ${errorText(cause)}`, {
      cause,
      hint: "check the folder's owner and free space",
    });
  }
}

function localHost(listen: string): string {
  if (listen === "0.0.0.0") return "127.0.0.1";
  return listen === "::" ? "::1" : listen;
}
