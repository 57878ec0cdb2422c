import { readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { output } from "../program.ts";

/** A server certificate and the authority that issued it, as files and as PEM. */
export interface MadeCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly cert: string;
  readonly key: string;
  readonly caPem: string;
}

/** Made by openssl in `dir`, valid for one day, for DNS names and addresses. */
export async function makeCertificate(dir: string, names: readonly string[]): Promise<MadeCertificate> {
  const path = (name: string): string => join(dir, name);
  const [caFile, caKey, certFile, keyFile, request, extensions] = ["ca.crt", "ca.key", "tls.crt", "tls.key", "tls.csr", "tls.ext"].map(path) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await output("openssl", ["req", "-x509", ...key, "-keyout", caKey, "-out", caFile, "-subj", "/CN=proxy test authority", "-days", "1"]);
  await output("openssl", ["req", ...key, "-keyout", keyFile, "-out", request, "-subj", "/CN=proxy test"]);
  const alternatives = names.map((name) => `${isIP(name) === 0 ? "DNS" : "IP"}:${name}`).join(",");
  await writeFile(extensions, `subjectAltName=${alternatives}\nextendedKeyUsage=serverAuth\n`);
  const signing = ["-CA", caFile, "-CAkey", caKey, "-CAcreateserial", "-days", "1", "-extfile", extensions];
  await output("openssl", ["x509", "-req", "-in", request, "-out", certFile, ...signing]);
  const [cert, privateKey, caPem] = await Promise.all([certFile, keyFile, caFile].map((file) => readFile(file, "utf8")));
  return { certFile, keyFile, caFile, cert: cert ?? "", key: privateKey ?? "", caPem: caPem ?? "" };
}
