import { readFileSync } from "node:fs";
import { join } from "node:path";
import { output } from "./program.ts";

/** Files with which a client verifies a port of the proxy, and shows its own certificate. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Their contents, as Node's TLS takes them. */
export function tlsOf({ ca, cert, key }: TlsFiles): { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer } {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}

/** Password of the key store that `javaStore` makes. */
export const storePassword = "changeit";

/** Certificate and key as a key store of Java, in a file of this folder: its path. */
export async function javaStore({ cert, key }: TlsFiles, folder: string): Promise<string> {
  const store = join(folder, "client.p12");
  await output("openssl", ["pkcs12", "-export", "-in", cert, "-inkey", key, "-out", store, "-passout", `pass:${storePassword}`]);
  return store;
}

/** The key alone as PostgreSQL's JDBC takes it, in a file of this folder: its path. */
export async function javaKey({ key }: TlsFiles, folder: string): Promise<string> {
  const file = join(folder, "client.pk8");
  await output("openssl", ["pkcs8", "-topk8", "-nocrypt", "-in", key, "-outform", "DER", "-out", file]);
  return file;
}
