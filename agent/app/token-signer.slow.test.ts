import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { authWithApp } from "../../test/inside/auth-with-app.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { tokenSigner } from "./token-signer.ts";

test("a token of the auth service names the user, for minutes, and for the address of the application", async () => {
  await using auth = await authWithApp();
  const authorities = await insideAuthorities();
  const { deps } = serviceDeps({ authorities, credentials: await authorities.host("apps-1"), node: { name: "apps-1", labels: {} } });
  const sign = tokenSigner({ auth: async () => auth.host, access: deps.access }, new AbortController().signal);
  const facts = {
    uri: "http://127.0.0.1:8080",
    userCertificate: new X509Certificate(auth.ann.tlsCertificate).raw,
    clientAddress: "192.0.2.7:40000",
    claims: "roles",
  } as const;
  const { token, expires } = await sign({ ...facts, app: "wiki" });
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  expect(claims).toMatchObject({ sub: "ann", aud: ["http://127.0.0.1:8080"], roles: ["writer"] });
  expect(claims.traits).toBeUndefined();
  expect(expires.getTime()).toBe(claims.exp * 1000);
  await expect(sign({ ...facts, app: "other" })).rejects.toMatchObject({ code: "denied" });
});
