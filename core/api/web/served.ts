import { z } from "zod";
import { labelsSchema } from "../../resources/metadata.ts";
import { offeredHealths } from "../../resources/offered.ts";

const servedSchema = z.object({
  name: z.string(),
  labels: labelsSchema,
  health: z.enum(offeredHealths),
  /** Why it is unhealthy; omitted if it is not. */
  health_error: z.string().optional(),
  /** Names of the connected hosts that offer it. */
  hosts: z.array(z.string()),
});

/** An application that an agent offers now. */
export const listedAppSchema = servedSchema.extend({
  /** `http`: opens in the browser; `tcp`: a local port of `tsh proxy app`. */
  type: z.enum(["http", "tcp"]),
  /** Host name at which browsers open it; omitted for one that is not opened in a browser. */
  host: z.string().optional(),
  /** Target ports of an application of several: `5432,6000-6010`. */
  ports: z.string().optional(),
});
export type ListedApp = z.infer<typeof listedAppSchema>;

/** A database that an agent offers now. */
export const listedDatabaseSchema = servedSchema.extend({
  protocol: z.string(),
  /** Accounts that the user's roles allow there; `*` is any. */
  accounts: z.array(z.string()),
  /** Its agents make the user's account, the only one of `accounts`. */
  makes_account: z.boolean(),
});
export type ListedDatabase = z.infer<typeof listedDatabaseSchema>;

/** A Kubernetes cluster that an agent offers now. */
export const listedClusterSchema = servedSchema;
export type ListedCluster = z.infer<typeof listedClusterSchema>;

export const appListSchema = z.object({ apps: z.array(listedAppSchema) });
export const databaseListSchema = z.object({ databases: z.array(listedDatabaseSchema) });
export const clusterListSchema = z.object({ clusters: z.array(listedClusterSchema) });
