import { createHash } from "node:crypto";

/** The source of an inline script or style for a page's Content-Security-Policy: `'sha256-<base64>'`. Pure. */
export function inlineHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
