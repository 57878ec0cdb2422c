import { createHash, timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same text; takes the same time whether they differ at the beginning, at the end or in length. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
