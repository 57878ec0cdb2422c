import { isAbsolute } from "node:path";
import { z } from "zod";
import { checkAdminUser, checkUri, dbAdminUser, dbNameText, dbProtocols, dbTlsShape, dbUriText, ownAdminPrefix } from "../resources/db.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { chosenByLabels, onOff } from "./setting.ts";

/** Maximum databases of one agent, from the file and the cluster together. */
export const maxDatabases = 1000;

const tlsSchema = z.strictObject({
  ...dbTlsShape,
  trust_system_cert_pool: onOff.default(false),
  /** Certificates in PEM that may have issued the server's one, beside the cluster's own authority. Read when the agent starts. */
  ca_cert_file: z.string().refine(isAbsolute, "must be an absolute path").optional(),
});

const adminUserSchema = dbAdminUser.refine(({ name }) => name.startsWith(ownAdminPrefix), {
  path: ["name"],
  message: `must begin with ${ownAdminPrefix}; a database with another admin_user can be a resource of the cluster (tctl create)`,
});

const databaseSchema = z
  .strictObject({
    name: dbNameText,
    description: z.string().max(1000).optional(),
    protocol: z.enum(dbProtocols, `must be one of ${dbProtocols.join(", ")}`),
    uri: dbUriText,
    tls: tlsSchema.optional(),
    /** With which this agent makes the accounts of users whose roles say so (`create_db_user_mode`). */
    admin_user: adminUserSchema.optional(),
    static_labels: labelsSchema.default({}),
  })
  .superRefine(checkUri)
  .superRefine(checkAdminUser);
export type ConfiguredDatabase = z.infer<typeof databaseSchema>;

export const dbServiceSchema = z.strictObject({
  enabled: onOff.default(true),
  databases: z
    .array(databaseSchema)
    .max(maxDatabases)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "must not name a database twice")
    .default([]),
  /** `db` resources of the cluster that this agent offers too: those whose labels match one of these. */
  resources: chosenByLabels,
});
