import { execFile } from "node:child_process";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import type { ExecPlugin } from "../kubeconfig/parse-kubeconfig.ts";

/** Time limit of a plugin, ms, and longest output, bytes. */
const pluginMs = 30_000;
const maxOutput = 1024 * 1024;

/** The credentials that a plugin returned, and when to run it again. */
export interface PluginLogin {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly privateKey?: string | undefined;
  /** Undefined: until the API server refuses it. */
  readonly expires?: Date | undefined;
}

const credentialSchema = z.object({
  apiVersion: z.string(),
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z
      .string()
      .regex(/^[\x21-\x7e]+$/)
      .optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** Runs the program of a kubeconfig that prints an ExecCredential. Throws `unavailable` or `timeout`, never with its output. */
export async function runPlugin(plugin: ExecPlugin, env: Env, signal: AbortSignal): Promise<PluginLogin> {
  const info = { apiVersion: plugin.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const own = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]));
  const output = await new Promise<string>((resolve, reject) => {
    const options = {
      env: { ...env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: pluginMs,
      killSignal: "SIGKILL" as const,
      maxBuffer: maxOutput,
      signal,
    };
    const child = execFile(plugin.command, plugin.args ?? [], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(pluginError(plugin, error.killed === true ? "it did not end in time, or printed too much" : exitText(error)));
    });
    child.stdin?.end();
  });
  return readCredential(plugin, output);
}

/** Parses the output of a plugin. Throws `unavailable`. Pure. */
export function readCredential(plugin: ExecPlugin, output: string): PluginLogin {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    throw pluginError(plugin, "it did not print JSON");
  }
  const { success, data } = credentialSchema.safeParse(value);
  if (!success || data.apiVersion !== plugin.apiVersion) throw pluginError(plugin, `it did not print an ExecCredential of ${plugin.apiVersion}`);
  const { token, clientCertificateData: certificate, clientKeyData: privateKey, expirationTimestamp: expires } = data.status;
  const isWhole = (certificate === undefined) === (privateKey === undefined) && (token !== undefined || certificate !== undefined);
  if (!isWhole) throw pluginError(plugin, "it printed neither a token nor a certificate with its key");
  return { token, certificate, privateKey, ...(expires != null && { expires: new Date(expires) }) };
}

function exitText({ code }: { readonly code?: string | number | null | undefined }): string {
  return code === "ENOENT" ? "the program is not there" : `it failed (${code ?? "a signal"})`;
}

function pluginError({ command }: ExecPlugin, why: string): PlatformError {
  return new PlatformError("unavailable", `the exec plugin ${JSON.stringify(command)} gave no credentials: ${why}`, {
    hint: "run it by hand as the agent's user",
  });
}
