import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

interface Credentials {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  /** A bearer token, or the name of a certificate of the cluster's PKI in `pki`. */
  readonly user: { readonly token: string } | { readonly pki: string; readonly name: string };
}

/** Writes a kubeconfig with everything inside, with one context of this name; JSON is YAML. */
export async function writeKubeconfig(file: string, { server, ca, user }: Credentials, context = "direct"): Promise<string> {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const pem = async (dir: string, name: string): Promise<string> => base64(await readFile(join(dir, name), "utf8"));
  const own =
    "token" in user
      ? user
      : { "client-certificate-data": await pem(user.pki, `${user.name}.crt`), "client-key-data": await pem(user.pki, `${user.name}.key`) };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "direct", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "direct", user: own }],
    contexts: [{ name: context, context: { cluster: "direct", user: "direct" } }],
    "current-context": context,
  };
  await writeFile(file, JSON.stringify(config, undefined, 1), { mode: 0o600 });
  return file;
}
