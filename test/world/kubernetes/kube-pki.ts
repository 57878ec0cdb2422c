import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { output } from "../program.ts";

/** Certificates of the cluster's authority, by file name: subject, and for servers the names. */
const holders = (address: string): readonly (readonly [name: string, subject: string, servers?: string])[] => [
  [
    "apiserver",
    "/CN=kube-apiserver",
    `IP:${address},IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost`,
  ],
  ["admin", "/O=system:masters/CN=admin"],
  ["controllers", "/CN=system:kube-controller-manager"],
  ["scheduler", "/CN=system:kube-scheduler"],
  ["node", "/O=system:nodes/CN=system:node:real"],
  ["kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client"],
  ["front-proxy", "/CN=front-proxy"],
];

/** Makes `ca.crt`, `NAME.crt` and `NAME.key` of each holder, and the keys `accounts.{key,pub}` of service accounts, in `dir`. By openssl, which shares no code with ours. */
export async function makeKubePki(dir: string, address: string): Promise<void> {
  const file = (name: string): string => join(dir, name);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await output("openssl", ["req", "-x509", ...fresh, "-keyout", file("ca.key"), "-out", file("ca.crt"), "-subj", "/CN=kubernetes", "-days", "2"]);
  const sign = async ([name, subject, servers]: ReturnType<typeof holders>[number], serial: number): Promise<void> => {
    const [request, extensions] = [file(`${name}.csr`), file(`${name}.ext`)];
    await output("openssl", ["req", ...fresh, "-keyout", file(`${name}.key`), "-out", request, "-subj", subject]);
    await writeFile(extensions, servers === undefined ? "extendedKeyUsage=clientAuth\n" : `subjectAltName=${servers}\nextendedKeyUsage=serverAuth\n`);
    const by = ["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-set_serial", String(serial + 2), "-days", "2", "-extfile", extensions];
    await output("openssl", ["x509", "-req", "-in", request, "-out", file(`${name}.crt`), ...by]);
  };
  await Promise.all(holders(address).map(sign));
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(file("accounts.key"), privateKey.export({ type: "pkcs1", format: "pem" }));
  await writeFile(file("accounts.pub"), publicKey.export({ type: "spki", format: "pem" }));
}
