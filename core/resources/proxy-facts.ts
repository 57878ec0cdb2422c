import { z } from "zod";
import { documentKind } from "./document.ts";

const time = z.iso.datetime({ offset: true });

/** A configured certificate of a proxy's web address, as it is in use. */
export const webCertificateSchema = z.object({
  /** `cert_file` of the configuration. */
  file: z.string().min(1).max(4096),
  /** Names in the certificate. */
  names: z.array(z.string().max(255)).max(100).default([]),
  /** Start and end of its validity, RFC 3339. */
  from: time.optional(),
  until: time,
});
export type WebCertificate = z.infer<typeof webCertificateSchema>;

/** The last failed reload of a process. */
export const failedReloadSchema = z.object({ at: time, error: z.string().max(1000) });
export type FailedReload = z.infer<typeof failedReloadSchema>;

/** A proxy's report of its own state for admins; live only. */
const proxyFactsSchema = z.object({
  web_certificates: z.array(webCertificateSchema).max(64).default([]),
  failed_reload: failedReloadSchema.optional(),
});
export type ProxyFacts = z.infer<typeof proxyFactsSchema>;

export const proxyFactsDocument = documentKind("proxy_facts", proxyFactsSchema, { what: "a proxy's report of itself" });

/** A certificate with its proxy: the address, or the id of a proxy without one. */
const proxyCertificateSchema = webCertificateSchema.extend({ proxy: z.string() });
export type ProxyCertificate = z.infer<typeof proxyCertificateSchema>;
export const proxyCertificateDocument = documentKind("proxy_certificate", proxyCertificateSchema, { what: "a proxy's certificate" });

const dayMs = 86_400_000;
/** A renewal is due long before: certificates that are renewed by programs have 30 days left then. */
const warnDays = 21;

/**
 * "expires in 5 days", "expired 2 days ago": from 21 days before, and for a short-lived certificate, when less than a third of its life
 * is left. Undefined when there is time. Pure.
 */
export function expiryWarning({ from, until }: { readonly from?: Date | undefined; readonly until: Date }, now: Date): string | undefined {
  const left = until.getTime() - now.getTime();
  const third = from === undefined ? Number.POSITIVE_INFINITY : (until.getTime() - from.getTime()) / 3;
  if (left > Math.min(warnDays * dayMs, third)) return undefined;
  if (left <= 0) return `expired ${span(-left)} ago`;
  return `expires in ${span(left)}`;
}

/** The times of a certificate, as dates. */
export function validityOf({ from, until }: Pick<WebCertificate, "from" | "until">): { readonly from: Date | undefined; readonly until: Date } {
  return { from: from === undefined ? undefined : new Date(from), until: new Date(until) };
}

function span(ms: number): string {
  const [count, unit] =
    ms >= 2 * dayMs
      ? [Math.floor(ms / dayMs), "days"]
      : ms >= 7_200_000
        ? [Math.floor(ms / 3_600_000), "hours"]
        : [Math.floor(ms / 60_000), "minutes"];
  return `${count} ${unit}`;
}
