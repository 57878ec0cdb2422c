import { z } from "zod";
import { documentKind } from "./document.ts";
import { labelsSchema } from "./metadata.ts";
import { hostnameText } from "./node.ts";

/** Maximum addresses of one host. */
export const maxDirectAddresses = 8;

const addresses = z.array(z.string().min(1).max(300)).max(maxDirectAddresses);

/** A host whose agent listens, so that proxies dial it. */
export const directHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** Names in its certificate, including the host name. */
  names: z.array(z.string().min(1).max(255)).max(64),
  /** `host:port`, best first. */
  addresses: addresses.min(1),
  /** Addresses that it may share with other hosts. */
  shared: addresses,
});
export type DirectHost = z.infer<typeof directHostSchema>;

export const directHostDocument = documentKind("direct_host", directHostSchema, { what: "a host that proxies dial" });
