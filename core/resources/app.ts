import { z } from "zod";
import { type HeaderField, isHeaderName, isHeaderValue, isReservedHeader } from "./app-headers.ts";
import { type AppUri, parseAppUri } from "./app-uri.ts";
import { documentKind } from "./document.ts";
import { metadataSchema } from "./metadata.ts";
import { resourceSpec } from "./resource-spec.ts";
import { formatPorts, tcpPortsSchema } from "./tcp-ports.ts";

/** A DNS label: the application's host name begins with it, unless it has a `public_addr`. */
export const appNameText = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must consist of a-z, 0-9 and -, at most 63 characters");
/** Without a port only beside `tcp_ports`, as `checkAppSettings` sees to. */
const anyAppUri = z
  .string()
  .max(512)
  .refine((text) => parseAppUri(text) !== undefined, "must be tcp://host:port, http://host:port, https://host:port or unix:///path");
/** Address at which an agent reaches the application. */
export const appUriText = anyAppUri.refine((text) => portFault(parseAppUri(text), false) === undefined, "must be tcp://host:port");

const hostText = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/, "must be a host name in lower case, without a port");
const redirectText = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, "must be a host name or address, without a port");

/** A field that is set in each request: `Name: value`, or `{name, value}`. */
const headerSchema = z.unknown().transform((value, context): { readonly name: string; readonly value: string } => {
  const field = fieldOf(value);
  const fault = field === undefined ? 'must be "Name: value", or name and value' : faultOf(field);
  if (field !== undefined && fault === undefined) return { name: field[0], value: field[1] };
  context.addIssue({ code: "custom", message: fault ?? "" });
  return z.NEVER;
});

function fieldOf(value: unknown): HeaderField | undefined {
  if (typeof value === "string") {
    const [, name, rest] = /^([^:]*):\s*(.*?)\s*$/s.exec(value) ?? [];
    return name === undefined || rest === undefined ? undefined : [name, rest];
  }
  const parsed = z.strictObject({ name: z.string(), value: z.string() }).safeParse(value);
  return parsed.success ? [parsed.data.name, parsed.data.value] : undefined;
}

function faultOf([name, value]: HeaderField): string | undefined {
  if (!isHeaderName(name)) return "has a name that no header can have";
  if (isReservedHeader(name)) return `sets ${name}, which only the platform sets`;
  return isHeaderValue(value) ? undefined : "has a value that no header can have";
}

/** What the token that names the user to the application tells besides the name. */
export const jwtClaims = ["roles-and-traits", "roles", "traits", "none"] as const;
export type JwtClaims = (typeof jwtClaims)[number];

const rewriteSchema = z.strictObject({
  /** Hosts of redirects that lead to the application's public address instead. */
  redirect: z.array(redirectText).max(64).default([]),
  headers: z.array(headerSchema).max(64).default([]),
  jwt_claims: z.enum(jwtClaims, `must be one of ${jwtClaims.join(", ")}`).default("roles-and-traits"),
});

const originText = z
  .string()
  .max(256)
  .refine((text) => text === "*" || (URL.canParse(text) && new URL(text).origin === text), "must be an origin such as https://app.example.com, or *");
const tokenText = z.string().refine((text) => text === "*" || isHeaderName(text), "must be a name");
/** Seconds. */
const maxCorsAge = 86_400;
/** Longest JSON of these settings: they travel to the proxies with each list of an agent's resources. */
const maxCorsLength = 1_500;

function corsSchema<Flag extends z.ZodType<boolean>>(flag: Flag) {
  return z
    .strictObject({
      allowed_origins: z.array(originText).max(32).default([]),
      allowed_methods: z.array(tokenText).max(16).default([]),
      allowed_headers: z.array(tokenText).max(32).default([]),
      exposed_headers: z.array(tokenText).max(32).default([]),
      allow_credentials: flag.optional(),
      /** Seconds for which a browser keeps the answer. */
      max_age: z.int().min(0).max(maxCorsAge).optional(),
    })
    .refine((cors) => JSON.stringify(cors).length <= maxCorsLength, `must not be longer than ${maxCorsLength} characters as JSON`);
}

/** Answers to pre-flight requests of other origins. */
export type AppCors = z.output<ReturnType<typeof corsSchema<z.ZodBoolean>>>;

const appNames = z.array(appNameText).max(16);

/** Settings that the configuration file and the resource share; the file writes switches in words of its own. */
export function appShape<Flag extends z.ZodType<boolean>>(flag: Flag) {
  return {
    uri: anyAppUri,
    /** Ports of an application that speaks raw TCP, at a `uri` without a port: clients choose one of them. */
    tcp_ports: tcpPortsSchema.optional(),
    /** Host name under which browsers reach it; default: its name, a dot and the proxy's host. */
    public_addr: hostText.optional(),
    /** Whether any certificate of an https application is accepted. */
    insecure_skip_verify: flag.optional(),
    rewrite: rewriteSchema.optional(),
    /** Applications to which a browser is signed in together with this one. */
    required_apps: appNames.optional(),
    cors: corsSchema(flag).optional(),
  };
}

/** An application that agents offer whose `app_service.resources` match its labels. */
export const appSchema = z.strictObject({
  kind: z.literal("app"),
  version: z.literal("v3"),
  metadata: metadataSchema.extend({ name: appNameText }),
  spec: z
    .strictObject({ ...appShape(z.boolean()), required_app_names: appNames.optional() })
    .refine(({ required_apps: short, required_app_names: long }) => short === undefined || long === undefined, {
      path: ["required_apps"],
      message: "is another spelling of required_app_names; write one of them",
    })
    .superRefine(checkAppSettings),
});
export type App = z.infer<typeof appSchema>;
export const appDocument = documentKind("app", appSchema, { what: "an app resource" });

const webSettings = ["public_addr", "insecure_skip_verify", "rewrite", "required_apps", "required_app_names", "cors"] as const;

/** Refuses, as part of a schema, settings of web applications for one that speaks raw TCP, and the reverse; its port is in the address or in the list. */
export function checkAppSettings(
  spec: { readonly uri: string; readonly tcp_ports?: unknown } & { readonly [Name in (typeof webSettings)[number]]?: unknown },
  context: z.RefinementCtx,
): void {
  const address = parseAppUri(spec.uri);
  const fault = portFault(address, spec.tcp_ports !== undefined);
  if (fault !== undefined) context.addIssue({ code: "custom", ...fault });
  if (address?.scheme !== "tcp") return;
  for (const name of webSettings) {
    if (spec[name] === undefined) continue;
    context.addIssue({ code: "custom", path: [name], message: "is for web applications: the address begins with tcp://" });
  }
}

function portFault(address: AppUri | undefined, hasPorts: boolean): { readonly path: string[]; readonly message: string } | undefined {
  if (address === undefined) return undefined;
  if (address.scheme !== "tcp")
    return hasPorts ? { path: ["tcp_ports"], message: "is for raw TCP: the address does not begin with tcp://" } : undefined;
  if (hasPorts === (address.port === undefined)) return undefined;
  const message = hasPorts
    ? "must be tcp://host without a port: the ports are in tcp_ports"
    : "must be tcp://host:port, or tcp://host with tcp_ports";
  return { path: ["uri"], message };
}

export const appSpec = resourceSpec<App>()({
  schema: appSchema,
  aliases: ["apps"],
  plain: {
    events: { created: ["app.create", "TAP03I"], updated: ["app.update", "TAP04I"], deleted: ["app.delete", "TAP05I"] },
    columns: ["Name", "Address", "Labels"],
    cells: ({ metadata, spec }) => [
      metadata.name,
      spec.tcp_ports === undefined ? spec.uri : `${spec.uri}:${formatPorts(spec.tcp_ports)}`,
      Object.entries(metadata.labels ?? {})
        .map((pair) => pair.join("="))
        .join(","),
    ],
    most: 10_000,
  },
});
