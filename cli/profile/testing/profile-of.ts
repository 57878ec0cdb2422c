import type { Profile, ProfileFacts } from "../profile.ts";

/** PEM of an authority that has signed nothing. */
export const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

/** The login of alice at the cluster `test`, with these facts. */
export function profileOf(facts: Partial<ProfileFacts> = {}): Profile {
  return {
    facts: {
      proxy: { host: "p.example.com", port: 3080 },
      user: "alice",
      cluster: "test",
      roles: ["access"],
      traits: {},
      principals: {},
      validUntil: new Date("2030-01-01T00:00:00Z"),
      hostCaSsh: ["ssh-ed25519 AAAA host-ca"],
      ...facts,
    },
    secrets: { sshPrivateKey: "KEY", sshCertificate: "CERT", tlsPrivateKey: "TLSKEY", tlsCertificate: "TLSCERT" },
    hostCaPem: [pem],
  };
}
