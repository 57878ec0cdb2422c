import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { checkCluster } from "./check-cluster.ts";
import type { ApiRequest } from "./upstream/api-server.ts";

type Api = Parameters<typeof checkCluster>[0];

/** An API server that gives every review this answer. */
function server(answer: (resource: string) => { readonly status: number; readonly allowed?: boolean }): Api {
  const send = async ({ body }: ApiRequest) => {
    const chunks: Buffer[] = [];
    for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
    const review = JSON.parse(Buffer.concat(chunks).toString()) as { spec: { resourceAttributes: { resource: string } } };
    const { status, allowed } = answer(review.spec.resourceAttributes.resource);
    const text = allowed === undefined ? "{}" : JSON.stringify({ status: { allowed } });
    return { status, message: "", headers: [], body: Readable.from([Buffer.from(text)]), hasBody: true, trailers: () => [], isBroken: () => false };
  };
  return { facts: { name: "prod" }, send };
}

test("an account that may act as users and groups is enough", async () => {
  expect(await checkCluster(server(() => ({ status: 201, allowed: true })))).toBe("answers");
});

test.each([
  [[], []],
  [["serviceaccounts"], ["impersonate serviceaccounts"]],
  [
    ["serviceaccounts", "pods"],
    ["impersonate serviceaccounts", "get pods"],
  ],
])("an account without a right to %j answers, and lacks %j", async (resources: readonly string[], wanted) => {
  const lacks: (readonly string[])[] = [];
  const api = server((resource) => ({ status: 201, allowed: !resources.includes(resource) }));
  expect(await checkCluster(api, (permissions) => void lacks.push(permissions))).toBe("answers");
  expect(lacks).toEqual([wanted]);
});

test.each([
  ["what is missing is named", server((resource) => ({ status: 201, allowed: resource === "users" })), "denied", "impersonate groups"],
  ["both are named", server(() => ({ status: 201, allowed: false })), "denied", "users and groups"],
  ["credentials that are refused", server(() => ({ status: 401 })), "unauthenticated", "credentials"],
  ["reviews that are refused", server(() => ({ status: 403 })), "denied", "selfsubjectaccessreviews"],
  ["an answer without a review", server(() => ({ status: 200 })), "unavailable", "200"],
  [
    "no way to it",
    { facts: { name: "prod" }, send: async () => await Promise.reject(new PlatformError("timeout", "no connection")) },
    "timeout",
    "no connection",
  ],
] as const)("%s", async (_, api, code, text) => {
  await expect(checkCluster(api)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
});
