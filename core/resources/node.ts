import { z } from "zod";
import { auditEvents, change } from "../audit/event-spec.ts";
import { documentKind } from "./document.ts";
import { hostStatusSchema } from "./host-status.ts";
import { labelsSchema, metadataSchema } from "./metadata.ts";

export const hostnameText = z
  .string()
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/, "a node name has 1 to 64 of the characters A-Z a-z 0-9 . -");

/** Address of the sshd of a host without an agent: `host:port`, `[v6]:port`. */
const addressText = z
  .string()
  .max(300)
  .regex(/^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):[0-9]{1,5}$/, "is host:port, like 10.0.0.7:22");

const plainNodeSchema = z.strictObject({
  kind: z.literal("node"),
  /** A host without an agent: the proxy connects to its sshd. Omitted for a host whose agent has joined. */
  sub_kind: z.literal("openssh").optional(),
  version: z.literal("v2"),
  metadata: metadataSchema.extend({ labels: labelsSchema.optional() }),
  spec: z.strictObject({
    hostname: hostnameText,
    /** Services that the agent runs, e.g. `ssh`. */
    services: z.array(z.string().max(32)).max(16).default([]),
    /** Version of the agent. */
    version: z.string().max(64).default(""),
    /** Address of a host without an agent. */
    addr: addressText.optional(),
  }),
  /**
   * Read only: whether its agent is connected now, since when it is connected or disconnected (RFC 3339), the host's last status, where
   * proxies dial it (omitted when it uses a tunnel), and the ids of the proxies that have a tunnel to it.
   */
  status: z
    .strictObject({
      connected: z.boolean(),
      since: z.string().optional(),
      host: hostStatusSchema.optional(),
      addr: z.string().optional(),
      proxies: z.array(z.string()).optional(),
    })
    .optional(),
});

/**
 * A host. `metadata.name` is its id: a UUID when it has joined, and removing the node ends its access until it joins again; any name
 * when it was registered without an agent.
 */
export const nodeSchema = plainNodeSchema.superRefine(({ sub_kind: kind, spec }, context) => {
  if ((kind === "openssh") === (spec.addr !== undefined)) return;
  const message = kind === "openssh" ? "is required: the address of the host's sshd, like 10.0.0.7:22" : "is only for sub_kind: openssh";
  context.addIssue({ code: "custom", path: ["spec", "addr"], message });
});
export type Node = z.infer<typeof nodeSchema>;

export const nodeDocument = documentKind("node", nodeSchema, { what: "a node" });

export const nodeEvents = auditEvents({
  "node.updated": { code: "TN001I", fields: change },
  "node.deleted": { code: "TN002I", fields: change },
});
