import { stringify } from "yaml";
import { z } from "zod";
import { toPlatformError } from "../../../../core/errors/platform-error.ts";
import { readDocument, resourceDocument, writeResource } from "../../../../core/resources/document.ts";
import { resourceKinds } from "../../../../core/resources/resource-specs.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { ofKind } from "./resource-routes.ts";

const kindParams = z.object({ kind: z.enum(resourceKinds) });
const yamlSchema = z.strictObject({ yaml: z.string().max(200_000) });
const writtenSchema = z.object({ name: z.string() });
const bodyLimit = 256 * 1024;

/** Resources as YAML, the form in which people read and write them. */
export function documentRoutes(api: Api, { readYaml }: { readonly readYaml: ReadYaml }): void {
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
      handler: async ({ auth, browser, params, body }) => {
        // First: what a caller without the right sends is not read. An auth service of before has no such call; it decides below.
        await auth.checkPermission({ kind: params.kind, verb: mustExist ? "update" : "create" }).catch((thrown: unknown) => {
          if (toPlatformError(thrown).code !== "unsupported") throw thrown;
        });
        const document = ofKind(params.kind, await readYaml(browser.user, body.yaml));
        const { name } = await auth.putResource({ json: writeResource(document), mustExist });
        return { name };
      },
    });
  }
}
