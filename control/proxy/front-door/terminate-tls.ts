import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface TerminateTlsOptions {
  readonly context: SecureContext;
  /** The one protocol that is answered when the client offers it. */
  readonly alpn: string;
  /** Ask for a certificate. It is not checked here: its holder decides, so that a refusal can be said in words. */
  readonly requestCertificate?: boolean;
  readonly timeoutMs?: number;
}

/** The server side of a TLS handshake on an accepted socket. Throws `unavailable` or `timeout`, and destroys the socket then. */
export function terminateTls(socket: Socket, options: TerminateTlsOptions): Promise<TLSSocket> {
  const tls = new TLSSocket(socket, {
    isServer: true,
    secureContext: options.context,
    ALPNProtocols: [options.alpn],
    requestCert: options.requestCertificate ?? false,
    rejectUnauthorized: false,
  });
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      tls.off("secure", onSecure).off("close", onClose).off("error", onError);
      tls.on("error", () => {});
    };
    const fail = (error: PlatformError): void => {
      settle();
      tls.destroy();
      socket.destroy();
      reject(error);
    };
    const onError = (cause: Error): void => fail(new PlatformError("unavailable", `the TLS handshake failed: ${cause.message}`, { cause }));
    const onClose = (): void => fail(new PlatformError("unavailable", "the connection ended during the TLS handshake"));
    const onSecure = (): void => {
      settle();
      resolve(tls);
    };
    const timer = setTimeout(() => fail(new PlatformError("timeout", "the TLS handshake took too long")), options.timeoutMs ?? 10_000);
    tls.on("secure", onSecure).on("close", onClose).on("error", onError);
  });
}
