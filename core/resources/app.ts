import { z } from "zod";
import { documentKind } from "./document.ts";
import { metadataSchema } from "./metadata.ts";
import { resourceSpec } from "./resource-spec.ts";

/** A DNS label: an application may get a host name later. */
export const appNameText = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must consist of a-z, 0-9 and -, at most 63 characters");
/** Address at which an agent reaches the application. */
export const appUriText = z.string().max(512).refine(isTcpAddress, "must be tcp://host:port");

/** An application that agents offer whose `app_service.resources` match its labels. */
export const appSchema = z.strictObject({
  kind: z.literal("app"),
  version: z.literal("v3"),
  metadata: metadataSchema.extend({ name: appNameText }),
  spec: z.strictObject({ uri: appUriText }),
});
export type App = z.infer<typeof appSchema>;
export const appDocument = documentKind("app", appSchema, { what: "an app resource" });

export const appSpec = resourceSpec<App>()({
  schema: appSchema,
  aliases: ["apps"],
  plain: {
    events: { created: ["app.create", "TAP03I"], updated: ["app.update", "TAP04I"], deleted: ["app.delete", "TAP05I"] },
    columns: ["Name", "Address", "Labels"],
    cells: ({ metadata, spec }) => [
      metadata.name,
      spec.uri,
      Object.entries(metadata.labels ?? {})
        .map((pair) => pair.join("="))
        .join(","),
    ],
    most: 10_000,
  },
});

function isTcpAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(text);
  return protocol === "tcp:" && hostname !== "" && port !== "" && port !== "0" && `${pathname}${username}${password}${search}${hash}` === "";
}
