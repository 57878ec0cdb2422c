import type { WebCertificate } from "../../core/resources/proxy-facts.ts";

/** Metrics of the proxy, in the text format of Prometheus. */
export async function proxyMetrics(certificates: readonly WebCertificate[]): Promise<string> {
  if (certificates.length === 0) return "";
  const { Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const expiry = new Gauge({
    name: "platform_web_certificate_expiry_seconds",
    help: "Expiry of the web certificate in use, Unix time",
    labelNames: ["file"],
    registers: [registry],
  });
  for (const { file, until } of certificates) expiry.set({ file }, Date.parse(until) / 1000);
  return await registry.metrics();
}
