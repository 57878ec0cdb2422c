import { createHash, X509Certificate } from "node:crypto";
import { PlatformError } from "../errors/platform-error.ts";

/** `sha256:<hex>` over the DER SubjectPublicKeyInfo of an authority's certificate (PEM or DER): the CA pin. */
export function caPin(certificate: string | Buffer): string {
  const spki = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

/** Throws `invalid` for anything but a pin. */
export function parseCaPin(text: string): string {
  const pin = text.trim().toLowerCase();
  if (!/^sha256:[0-9a-f]{64}$/.test(pin)) {
    throw new PlatformError("invalid", `${JSON.stringify(text)} is not a CA pin`, {
      hint: "a pin is sha256: and 64 hex digits; `tctl status` prints it",
    });
  }
  return pin;
}

/** What a host's credentials say of its cluster. */
interface HeldIdentity {
  readonly cluster: string;
  readonly hostId: string;
  /** PEM certificates of the host authority. */
  readonly hostCaPem: readonly string[];
}

/**
 * Message and hint when the configured pins belong to another authority than this host's identity: the configuration names another cluster,
 * or the authority was rotated. Undefined when they fit, or there are none. Pure.
 */
export function otherCluster(held: HeldIdentity, pins: readonly string[]): { readonly message: string; readonly hint: string } | undefined {
  const own = held.hostCaPem.map(caPin);
  if (pins.length === 0 || pins.some((pin) => own.includes(pin))) return undefined;
  const cluster = JSON.stringify(held.cluster);
  return {
    message: `this host belongs to cluster ${cluster} (host ${held.hostId}), and platform.ca_pin belongs to another authority`,
    hint: `to join the cluster of the configuration: systemctl stop platform; platform leave; systemctl start platform. If ${cluster} is right, its authority was rotated: set the pin that \`tctl status\` prints`,
  };
}
