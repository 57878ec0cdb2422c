import { z } from "zod";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** Addresses of one host, at most. */
export const maxDirectAddresses = 8;

const addresses = z.array(z.string().min(1).max(300)).max(maxDirectAddresses);

/** A host whose agent listens, so that proxies dial it. */
export const directHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** Of its certificate, the host name among them. */
  names: z.array(z.string().min(1).max(255)).max(64),
  /** `host:port`, the best first. */
  addresses: addresses.min(1),
  /** Those of `addresses` that it may share with other hosts. */
  shared: addresses,
});
export type DirectHost = z.infer<typeof directHostSchema>;
