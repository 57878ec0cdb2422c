import { decodeAuthorityKeys, makeAuthorityKeys } from "../../control/auth/authority/authority-keys.ts";
import { issueDatabase } from "../../control/auth/authority/issue-certificates.ts";
import { generateKeys } from "./user-keys.ts";

/** An authority for databases inside a test. */
export interface DatabaseAuthority {
  readonly pem: string;
  /** With names: of a server; without: of a client. PEM. */
  issue(cn: string, options?: { readonly names?: readonly string[]; readonly validBefore?: Date }): Promise<IssuedForDatabase>;
}

export interface IssuedForDatabase {
  readonly certificate: string;
  readonly privateKey: string;
}

export async function databaseAuthority(kind: "db" | "db_client"): Promise<DatabaseAuthority> {
  const keys = await decodeAuthorityKeys(kind, await makeAuthorityKeys({ kind, cluster: "inside", now: new Date() }));
  return {
    pem: keys.certificate.toString("pem"),
    issue: async (cn, { names = [], validBefore = new Date(Date.now() + 3_600_000) } = {}) => {
      const { tlsPublicKey, tlsPrivateKey: privateKey } = generateKeys();
      const certificate = await issueDatabase(keys, { tlsPublicKey, now: new Date(), validBefore, subject: [["CN", cn]], names });
      return { certificate, privateKey };
    },
  };
}
