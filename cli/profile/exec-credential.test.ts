import { X509Certificate } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { decodeExecFile, encodeExecFile, execCredential } from "./exec-credential.ts";
import type { TlsCredentials } from "./profile.ts";

let credentials: TlsCredentials;
/** The end of the certificate. */
let end: Date;

beforeAll(async () => {
  const { tlsCertificate, tlsPrivateKey } = await (await insideAuthorities()).user("alice", { route: { kind: "kube", name: "prod" } });
  credentials = { certificate: tlsCertificate, privateKey: tlsPrivateKey };
  end = new X509Certificate(tlsCertificate).validToDate;
});

test("the answer for kubectl is in the version that it asks for, and otherwise in the one that all know", () => {
  const answer = (info?: string) => JSON.parse(execCredential(credentials, info)) as { readonly apiVersion: string; readonly status: unknown };
  expect(answer()).toEqual({
    kind: "ExecCredential",
    apiVersion: "client.authentication.k8s.io/v1beta1",
    spec: {},
    status: {
      expirationTimestamp: end.toISOString().replace(".000Z", "Z"),
      clientCertificateData: credentials.certificate,
      clientKeyData: credentials.privateKey,
    },
  });
  expect(answer('{"apiVersion":"client.authentication.k8s.io/v1"}').apiVersion).toBe("client.authentication.k8s.io/v1");
  for (const odd of ["", "{", "7", '{"apiVersion":"evil/v9"}']) expect(answer(odd).apiVersion).toBe("client.authentication.k8s.io/v1beta1");
});

test("the kept answer is read back until its certificate ends, and not a moment longer", () => {
  const text = encodeExecFile(credentials);
  expect(text).toBe(`${end.getTime() / 1000}\n${execCredential(credentials)}\n`);
  expect(decodeExecFile(text, new Date(end.getTime() - 1))).toEqual(credentials);
  expect(decodeExecFile(text, end)).toBeUndefined();
});

test("no part of a kept answer is one, nor is one with other bytes", () => {
  const text = encodeExecFile(credentials);
  for (let length = 0; length < text.length; length += 1) expect(decodeExecFile(text.slice(0, length), new Date())).toBeUndefined();
  const odd = [
    text.replace(/^\d+/, "99999999999"),
    text.replace(/^\d+\n/, ""),
    text.replace(/"clientKeyData":"[^"]*"/, '"clientKeyData":7'),
    text.replace(/"clientKeyData":"[^"]*"/, '"clientKeyData":""'),
    text.replace(/CERTIFICATE-----[^"]*/, "CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n"),
    "1\nnull\n",
    `${text}more`,
  ];
  for (const one of odd) expect(decodeExecFile(one, new Date())).toBeUndefined();
});
