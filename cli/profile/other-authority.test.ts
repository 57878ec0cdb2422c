import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { otherAuthority } from "./other-authority.ts";

const proxy = { host: "proxy.example.com", port: 443 };
const tls = (code: string) => new PlatformError("unavailable", "no TLS", { cause: Object.assign(new Error("x"), { code }) });

test.for(["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_SIGNATURE_FAILURE"])(
  "%s after an earlier login asks for the pin",
  (code) => {
    expect(otherAuthority(tls(code), proxy)).toMatchObject({ code: "unauthenticated", hint: expect.stringMatching(/--ca-pin/) });
  },
);

test("other failures stay what they are", () => {
  const refused = tls("ECONNREFUSED");
  expect(otherAuthority(refused, proxy)).toBe(refused);
  expect(otherAuthority("text", proxy)).toBe("text");
});
