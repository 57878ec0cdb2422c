import { z } from "zod";
import { type AnyResource, anyResourceSchema, removedSchema, resourceListSchema } from "../../../../core/api/web/documents.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { readDocument, resourceDocument, writeResource } from "../../../../core/resources/document.ts";
import { resourceKinds } from "../../../../core/resources/resource-specs.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const kindParams = z.object({ kind: z.enum(resourceKinds) });
const nameParams = kindParams.extend({ name: z.string().min(1).max(64) });
/** Maximum size of a document, bytes. */
const bodyLimit = 256 * 1024;

/** Resources of any kind, as `tctl` reads and writes them. A document with a revision is stored only if that revision is still there. */
export function resourceRoutes(api: Api): void {
  addReads(api);
  addWrites(api);
}

function addReads(api: Api): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/resources/:kind",
    summary: "Lists the resources of a kind.",
    schema: { params: kindParams, answer: resourceListSchema },
    handler: async ({ auth, params }) => {
      const { resources } = await auth.listResources(params);
      return { resources: resources.map(({ json }) => resourceOf(json)) };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/resources/:kind/:name",
    summary: "Shows a resource, with its revision.",
    schema: { params: nameParams, answer: anyResourceSchema },
    handler: async ({ auth, params }) => resourceOf((await auth.getResource(params)).json),
  });
}

function addWrites(api: Api): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/resources/:kind",
    summary: "Makes a resource; one that is there already is not changed.",
    bodyLimit,
    schema: { params: kindParams, body: anyResourceSchema, answer: anyResourceSchema },
    handler: async ({ auth, params, body }) => resourceOf((await auth.putResource({ json: writeResource(ofKind(params.kind, body)) })).json),
  });
  apiRoute(api, {
    method: "PUT",
    path: "/webapi/v1/resources/:kind/:name",
    summary: "Changes a resource that is there already.",
    bodyLimit,
    schema: { params: nameParams, body: anyResourceSchema, answer: anyResourceSchema },
    handler: async ({ auth, params: { kind, name }, body }) => {
      if (body.metadata.name !== name) throw new PlatformError("invalid", "the document has another name than the path");
      return resourceOf((await auth.putResource({ json: writeResource(ofKind(kind, body)), mustExist: true })).json);
    },
  });
  apiRoute(api, {
    method: "DELETE",
    path: "/webapi/v1/resources/:kind/:name",
    summary: "Removes a resource; the answer has what that did besides.",
    schema: { params: nameParams, answer: removedSchema },
    handler: async ({ auth, params }) => ({ notes: (await auth.deleteResource(params)).notes }),
  });
}

function resourceOf(json: string): AnyResource {
  return readDocument(resourceDocument, json);
}

/** A document of the kind that the path names: the user's page and the document cannot mean different things. */
export function ofKind(kind: string, document: AnyResource): AnyResource {
  if (document.kind !== kind) throw new PlatformError("invalid", `the document is a ${document.kind.slice(0, 64)}, not a ${kind}`);
  return document;
}
