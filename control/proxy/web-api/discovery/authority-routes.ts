import type { FastifyInstance } from "fastify";
import { type AuthorityBundle, exportedKeys } from "../../../../core/api/trusted-keys.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { authorityExports } from "../../../../core/kinds/authority-kinds.ts";
import type { Access } from "../../routing/read-access.ts";

export interface AuthorityServices {
  readonly access: { current(): Promise<Access> };
  readonly clusterName: string;
}

/** `GET /webapi/auth/export?type=…`: the public halves of the authorities, public. */
export function authorityRoutes(app: FastifyInstance, { access, clusterName }: AuthorityServices): void {
  for (const prefix of ["", "/v1"]) {
    app.get<{ Querystring: { type?: string } }>(`${prefix}/webapi/auth/export`, async (request, reply) => {
      const { type } = request.query;
      const text = exportAuthority(typeof type === "string" ? type : "", { clusterName, ...(await access.current()) });
      return await reply.type("text/plain; charset=utf-8").send(text);
    });
  }
}

interface ExportFacts {
  readonly clusterName: string;
  readonly bundles: readonly AuthorityBundle[];
}

/**
 * Public halves of an authority, in the format of the programs that use them: PEM, lines for known_hosts, or lines for sshd's TrustedUserCAKeys.
 * Throws `invalid` for another type.
 */
function exportAuthority(type: string, { clusterName, bundles }: ExportFacts): string {
  const known = authorityExports.find((one) => one.type === type);
  if (known === undefined) {
    throw new PlatformError("invalid", `unknown authority type ${JSON.stringify(type.slice(0, 64))}`, {
      hint: `use one of: ${authorityExports.map((one) => one.type).join(", ")}`,
    });
  }
  const forms = {
    pem: (pem: string) => pem.trim(),
    known_hosts: (line: string) => `@cert-authority *.${clusterName} ${keyOf(line)}`,
    ssh_keys: (line: string) => `${keyOf(line)} ${clusterName}`,
  };
  return exportedKeys(bundles, known)
    .map((key) => `${forms[known.form](key)}\n`)
    .join("");
}

/** Type and key of a public key line, without its comment. */
function keyOf(line: string): string {
  return line.trim().split(/\s+/).slice(0, 2).join(" ");
}
