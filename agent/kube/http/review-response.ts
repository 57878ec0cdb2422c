import type { WholeResponse } from "../../http/exchange.ts";

/** A review in JSON; undefined for one in another format. Pure. */
export function parsedReview(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A review with its answer: no. Pure. */
export function reviewResponse(review: Readonly<Record<string, unknown>> | undefined, reason: string): WholeResponse {
  const body = Buffer.from(`${JSON.stringify({ ...review, status: { allowed: false, denied: true, reason } })}\n`);
  const headers = [
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
    ["Cache-Control", "no-cache, private"],
  ] as const;
  return { head: { status: 201, message: "", headers }, body };
}
