import { z } from "zod";
import { metadataSchema } from "./metadata.ts";

/** A label of a host name: an application may be reached under one later. */
export const appNameText = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must consist of a-z, 0-9 and -, at most 63 characters");
/** Where an agent reaches the application. */
export const appUriText = z.string().max(512).refine(isTcpAddress, "must be tcp://host:port");

/** An application that agents offer whose `app_service.resources` match its labels. */
export const appSchema = z.strictObject({
  kind: z.literal("app"),
  version: z.literal("v3"),
  metadata: metadataSchema.extend({ name: appNameText }),
  spec: z.strictObject({ uri: appUriText }),
});
export type App = z.infer<typeof appSchema>;

function isTcpAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(text);
  return protocol === "tcp:" && hostname !== "" && port !== "" && port !== "0" && `${pathname}${username}${password}${search}${hash}` === "";
}
