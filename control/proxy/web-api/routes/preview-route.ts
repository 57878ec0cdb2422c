import { stringify } from "yaml";
import type { z } from "zod";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import type { AnyResource } from "../../../../core/api/web/documents.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Api } from "../api/api.ts";
import { apiRoute, type UserCall, type UserRoute } from "../api/api-route.ts";
import type { ApiSchema } from "../api/declared-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { ofKind } from "./resource-routes.ts";

export interface PreviewServices {
  readonly now: () => Date;
  readonly readYaml: ReadYaml;
}

/** A document that is not stored, in one of two forms. */
interface SentDocument {
  readonly yaml: string | undefined;
  readonly json: AnyResource | undefined;
}

interface DocumentSchema<Document> {
  readonly kind: string;
  readonly schema: z.ZodType<Document>;
}

interface Previewed<Document, Facts> {
  readonly document: Document;
  /** Its text, as the editor shows it. */
  readonly yaml: string;
  readonly facts: Facts;
}

export interface PreviewRoute<S extends ApiSchema, Document, Facts> extends Pick<UserRoute<S>, "path" | "summary" | "schema"> {
  /** Maximum size of the body, bytes. */
  readonly bodyLimit: number;
  readonly document: DocumentSchema<Document>;
  readonly sent: (body: UserCall<S>["body"]) => SentDocument;
  /** What the document is compared with. It comes first: a caller without the rights is refused, and audited, once. */
  readonly facts: (auth: AuthClient) => Promise<Facts>;
  readonly show: (previewed: Previewed<Document, Facts>, call: UserCall<S>) => ReturnType<UserRoute<S>["handler"]>;
}

/** Declares a route that shows what a document would change if it were stored as it is sent; nothing is stored. */
export function previewRoute<S extends ApiSchema, Document, Facts>(
  api: Api,
  { document: schema, sent, facts, show, ...route }: PreviewRoute<S, Document, Facts>,
  { readYaml }: Pick<PreviewServices, "readYaml">,
): void {
  const handler: UserRoute<S>["handler"] = async (call) => {
    const found = await facts(call.auth);
    const document = await sentDocument(schema, sent(call.body), async (yaml) => await readYaml(call.browser.user, yaml));
    return await show({ document, yaml: stringify(document, { lineWidth: 0 }), facts: found }, call);
  };
  apiRoute<S>(api, { method: "POST", ...route, handler });
}

/** Throws `invalid` for neither form, both, and for what could not be stored. */
async function sentDocument<Document>(
  { kind, schema }: DocumentSchema<Document>,
  { yaml, json }: SentDocument,
  read: (yaml: string) => Promise<AnyResource>,
): Promise<Document> {
  if ((yaml === undefined) === (json === undefined)) throw new PlatformError("invalid", "send the document either as yaml or as JSON");
  const parsed = schema.safeParse(json ?? ofKind(kind, await read(yaml ?? "")));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlatformError("invalid", `${issue?.path.join(".") || "the document"}: ${issue?.message ?? `is not a ${kind}`}`);
}
