import { z } from "zod";
import { documentKind } from "./document.ts";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** A host that has a tunnel, but not to the requesting proxy. */
export const tunnelledHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** The proxies that have a tunnel to it. */
  proxies: z.array(z.object({ id: z.string().max(64), name: z.string().max(255), addr: z.string().max(300) })).max(64),
});
export type TunnelledHost = z.infer<typeof tunnelledHostSchema>;

export const tunnelledHostDocument = documentKind("tunnelled_host", tunnelledHostSchema, { what: "a host with a tunnel" });
