/** Headers of every answer of the proxy's own site, its errors too; a page replaces the policy of what it may load, and a file how long it is kept. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  "Strict-Transport-Security": "max-age=31536000",
  // No page of another site may have a part of ours, and none of ours may reach into another.
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "publickey-credentials-get=(self), clipboard-read=(self), clipboard-write=(self), camera=(), microphone=(), geolocation=()",
};
