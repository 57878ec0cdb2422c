import { z } from "zod";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** A host that has a tunnel, and not to the proxy that asks. */
export const tunnelledHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** The proxies that have one. */
  proxies: z.array(z.object({ id: z.string().max(64), name: z.string().max(255), addr: z.string().max(300) })).max(64),
});
export type TunnelledHost = z.infer<typeof tunnelledHostSchema>;
