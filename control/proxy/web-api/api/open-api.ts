import { z } from "zod";
import { errorCodes } from "../../../../core/errors/platform-error.ts";
import { sessionCookie } from "../cookies.ts";
import { httpStatus } from "../server/answer-errors.ts";
import type { DeclaredRoute } from "./declared-route.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of these routes, from their schemas. */
export function openApiDocument(routes: readonly DeclaredRoute[], { version }: { readonly version: string }): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:([A-Za-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "platform web API", version, description: "Errors have the form {error: {message, code, hint}}." },
    paths,
    components: {
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: sessionCookie },
        bearer: { type: "http", scheme: "bearer", description: "The token in the answer of POST /webapi/v1/sessions, of the same session." },
      },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema: Json = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "code"],
      properties: { message: { type: "string" }, code: { enum: [...errorCodes] }, hint: { type: "string" } },
    },
  },
};

const security = { none: [], session: [{ session: [] }], "session and bearer": [{ session: [], bearer: [] }] } as const;

function operation({ summary, schema, authentication, media, socket }: DeclaredRoute): Json {
  const parameters = [...parametersOf(schema.params, "path"), ...parametersOf(schema.query, "query")];
  return {
    summary,
    ...(socket === true && { "x-websocket": true }),
    security: security[authentication],
    ...(parameters.length > 0 && { parameters }),
    ...(schema.body !== undefined && {
      requestBody: { required: true, content: { "application/json": { schema: jsonSchema(schema.body, "input") } } },
    }),
    responses: { ...success(schema.answer, media), ...failures(authentication) },
  };
}

function success(answer: z.ZodType | undefined, media: string | undefined): Json {
  if (media !== undefined) return { 200: { description: "as the summary says", content: { [media]: {} } } };
  if (answer === undefined) return { 204: { description: "done" } };
  return { 200: { description: "as the summary says", content: { "application/json": { schema: jsonSchema(answer, "output") } } } };
}

function failures(authentication: DeclaredRoute["authentication"]): Json {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  const refused = authentication === "none" ? {} : { [httpStatus.unauthenticated]: { description: "not logged in", content } };
  return { ...refused, [httpStatus.denied]: { description: "not allowed", content }, default: { description: "any other failure", content } };
}

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query"): readonly Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input") as { properties?: Record<string, Json>; required?: readonly string[] };
  return Object.entries(properties).map(([name, one]) => ({ name, in: place, required: place === "path" || required.includes(name), schema: one }));
}

/** What JSON Schema cannot express (checks in code) is left out: the document describes, it does not decide. */
function jsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", target: "draft-2020-12" });
  return rest;
}
