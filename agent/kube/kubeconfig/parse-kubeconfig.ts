import { parseDocument } from "yaml";
import { z } from "zod";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";

/** Longest kubeconfig, bytes. */
export const maxKubeconfig = 1024 * 1024;
const maxEntries = 1_000;

const text = z.string().max(4_096);
/** PEM in base64. */
const data = z.string().max(256 * 1024);

const clusterSchema = z.object({
  server: text,
  "certificate-authority": text.optional(),
  "certificate-authority-data": data.optional(),
  "tls-server-name": text.optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "proxy-url": text.optional(),
});

const execSchema = z.object({
  apiVersion: text,
  command: text.min(1),
  args: z.array(text).max(256).nullish(),
  env: z
    .array(z.object({ name: text.min(1), value: text }))
    .max(256)
    .nullish(),
  provideClusterInfo: z.boolean().optional(),
});

const userSchema = z.object({
  "client-certificate": text.optional(),
  "client-certificate-data": data.optional(),
  "client-key": text.optional(),
  "client-key-data": data.optional(),
  token: data.optional(),
  tokenFile: text.optional(),
  exec: execSchema.nullish(),
  username: text.optional(),
  password: text.optional(),
  as: text.optional(),
  "as-uid": text.optional(),
  "as-groups": z.array(text).nullish(),
  "as-user-extra": z.record(z.string(), z.unknown()).nullish(),
  "auth-provider": z.unknown().optional(),
});

const name = text.min(1);
const kubeconfigSchema = z.object({
  clusters: z
    .array(z.object({ name, cluster: clusterSchema }))
    .max(maxEntries)
    .nullish(),
  users: z
    .array(z.object({ name, user: userSchema.nullish() }))
    .max(maxEntries)
    .nullish(),
  contexts: z
    .array(z.object({ name, context: z.object({ cluster: text, user: text.optional() }) }))
    .max(maxEntries)
    .nullish(),
});

export type KubeconfigCluster = z.infer<typeof clusterSchema>;
export type KubeconfigUser = z.infer<typeof userSchema>;
export type ExecPlugin = z.infer<typeof execSchema>;

/** A cluster and an account that a context of a kubeconfig joins. */
export interface KubeContext {
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
}

/** The contexts of a kubeconfig, in its order. Throws `invalid` and never quotes a value: it may be a secret. Pure. */
export function parseKubeconfig(source: string): readonly KubeContext[] {
  if (source.length > maxKubeconfig) throw new PlatformError("invalid", `the kubeconfig is larger than ${maxKubeconfig} bytes`);
  const { clusters, users, contexts } = readSchema(source);
  const clusterOf = byName(clusters ?? [], "clusters");
  const userOf = byName(users ?? [], "users");
  byName(contexts ?? [], "contexts");
  return (contexts ?? []).map(({ name, context }) => {
    const cluster = clusterOf.get(context.cluster)?.cluster;
    if (cluster === undefined)
      throw new PlatformError("invalid", `context ${JSON.stringify(name)} of the kubeconfig names a cluster that is not in it`);
    const entry = context.user === undefined ? undefined : userOf.get(context.user);
    if (context.user !== undefined && context.user !== "" && entry === undefined)
      throw new PlatformError("invalid", `context ${JSON.stringify(name)} of the kubeconfig names a user that is not in it`);
    return { name, cluster, user: entry?.user ?? {} };
  });
}

function readSchema(source: string): z.infer<typeof kubeconfigSchema> {
  let value: unknown;
  try {
    const document = parseDocument(source, { prettyErrors: false, logLevel: "silent", stringKeys: true });
    const [fault] = document.errors;
    if (fault !== undefined) throw new PlatformError("invalid", `the kubeconfig is not readable as YAML (${fault.code})`);
    value = document.toJS({ maxAliasCount: 0 });
  } catch (thrown) {
    if (thrown instanceof PlatformError) throw thrown;
    throw new PlatformError("invalid", "the kubeconfig is not readable as YAML", { cause: errorText(thrown) });
  }
  const result = kubeconfigSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.map(String).join(".") ?? "";
  throw new PlatformError("invalid", `the kubeconfig is malformed${where === "" ? "" : ` at ${where.slice(0, 200)}`}`);
}

function byName<T extends { readonly name: string }>(entries: readonly T[], list: string): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const entry of entries) {
    if (found.has(entry.name)) throw new PlatformError("invalid", `the kubeconfig has ${JSON.stringify(entry.name)} twice among its ${list}`);
    found.set(entry.name, entry);
  }
  return found;
}
