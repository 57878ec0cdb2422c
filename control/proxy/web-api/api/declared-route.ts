import type { z } from "zod";

/** `:name` is a parameter, as in Fastify. */
export type ApiPath = `/webapi/v1/${string}`;

export interface ApiSchema {
  /** Parameters of the path. */
  readonly params?: z.ZodObject;
  /** The query; values are text, so numbers need `z.coerce`. */
  readonly query?: z.ZodObject;
  /** A JSON body. Left out: the route takes none. */
  readonly body?: z.ZodType;
  /** The JSON answer. Left out: 204, or what the handler sends itself (`media`). */
  readonly answer?: z.ZodType;
}

/** A declared route, as the document shows it. */
export interface DeclaredRoute {
  readonly method: string;
  readonly path: ApiPath;
  readonly summary: string;
  readonly schema: ApiSchema;
  readonly media?: string;
  /** A WebSocket: the token comes in its first message. */
  readonly socket?: boolean;
  readonly authentication: "none" | "session" | "session and bearer";
}
