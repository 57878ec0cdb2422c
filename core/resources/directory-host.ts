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
  /** Of services with a port of their own, by kind; the others are reached at `addresses`. Omitted by an older auth service. */
  services: z.record(z.string().min(1).max(32), addresses.min(1)).optional(),
});
export type DirectHost = z.infer<typeof directHostSchema>;

export const directHostDocument = documentKind("direct_host", directHostSchema, { what: "a host that proxies dial" });

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

/** A host by its record: it keeps its names while it is disconnected. */
export const recordedHostSchema = z.object({
  id: z.uuid(),
  hostname: hostnameText,
  labels: labelsSchema,
  /** RFC 3339, since when it is disconnected; omitted if not known. */
  since: z.string().max(64).optional(),
});
export type RecordedHost = z.infer<typeof recordedHostSchema>;

export const recordedHostDocument = documentKind("recorded_host", recordedHostSchema, { what: "the record of a host" });
