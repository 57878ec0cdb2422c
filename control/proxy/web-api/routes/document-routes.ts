import { parse, stringify } from "yaml";
import { z } from "zod";
import { type AnyResource, anyResourceSchema } from "../../../../core/api/web/documents.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { readDocument, resourceDocument, writeResource } from "../../../../core/resources/document.ts";
import { resourceKinds } from "../../../../core/resources/resource-specs.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import { ofKind } from "./resource-routes.ts";

const kindParams = z.object({ kind: z.enum(resourceKinds) });
const yamlSchema = z.strictObject({ yaml: z.string().max(200_000) });
const writtenSchema = z.object({ name: z.string() });
const bodyLimit = 256 * 1024;

/** Resources as YAML, the form in which people read and write them. */
export function documentRoutes(api: Api): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/documents/:kind/:name",
    summary: "Shows a resource as YAML, with its revision.",
    schema: { params: kindParams.extend({ name: z.string().min(1).max(64) }), answer: yamlSchema },
    handler: async ({ auth, params }) => ({
      yaml: stringify(readDocument(resourceDocument, (await auth.getResource(params)).json), { lineWidth: 0 }),
    }),
  });
  for (const [method, mustExist, summary] of [
    ["POST", false, "Makes a resource from YAML; one that is there already is not changed."],
    ["PUT", true, "Changes a resource that is there already, from YAML."],
  ] as const) {
    apiRoute(api, {
      method,
      path: "/webapi/v1/documents/:kind",
      summary,
      bodyLimit,
      schema: { params: kindParams, body: yamlSchema, answer: writtenSchema },
      handler: async ({ auth, params, body }) => {
        const document = ofKind(params.kind, readYaml(body.yaml));
        const { name } = await auth.putResource({ json: writeResource(document), mustExist });
        return { name };
      },
    });
  }
}

/** The resource in a text that a user wrote; without its read-only part, so that what was shown can be saved. Throws `invalid` with the line. */
export function readYaml(text: string): AnyResource {
  const parsed = anyResourceSchema.safeParse(valueIn(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new PlatformError(
      "invalid",
      `the document is malformed at ${issue?.path.join(".") || "the top"}: ${issue?.message ?? "it is not a resource"}`,
    );
  }
  const { status: _status, ...document } = parsed.data;
  return document;
}

function valueIn(text: string): unknown {
  try {
    return parse(text, { version: "1.2", uniqueKeys: true, maxAliasCount: 100, logLevel: "error" });
  } catch (cause) {
    const [line = "it cannot be read"] = (cause as Error).message.split("\n");
    throw new PlatformError("invalid", `the document is not YAML: ${line.replace(/:$/, "")}`, { cause });
  }
}
