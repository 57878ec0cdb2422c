import type { WholeResponse } from "../../http/exchange.ts";
import { objectIn, onlyField } from "../judge/protobuf-fields.ts";

/** A review in JSON, or protobuf as newer kubectl send it; undefined for one in another format. Pure. */
export function parsedReview(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const object = objectIn(body);
    if (object !== undefined) return reviewInProtobuf(object);
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Names of the fields in the order of their numbers, which begin with 1. */
const objectFields = ["namespace", "verb", "group", "version", "resource", "subresource", "name"] as const;
const pathFields = ["path", "verb"] as const;
const specNumber = 2;

function reviewInProtobuf(object: Buffer): Readonly<Record<string, unknown>> | undefined {
  const spec = onlyField(object, specNumber);
  if (spec === undefined) return undefined;
  const [resourceAttributes, nonResourceAttributes] = [textsOf(onlyField(spec, 1), objectFields), textsOf(onlyField(spec, 2), pathFields)];
  return {
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    spec: { ...(resourceAttributes && { resourceAttributes }), ...(nonResourceAttributes && { nonResourceAttributes }) },
  };
}

function textsOf(message: Buffer | undefined, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (message === undefined) return undefined;
  return Object.fromEntries(names.map((name, index) => [name, onlyField(message, index + 1)?.toString("utf8") ?? ""]));
}

/** The review with a negative answer. Pure. */
export function reviewResponse(review: Readonly<Record<string, unknown>> | undefined, reason: string): WholeResponse {
  const body = Buffer.from(`${JSON.stringify({ ...review, status: { allowed: false, denied: true, reason } })}\n`);
  const headers = [
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
    ["Cache-Control", "no-cache, private"],
  ] as const;
  return { head: { status: 201, message: "", headers }, body };
}
