import { z } from "zod";

/* Passkeys as pages and the API exchange them: in the JSON of WebAuthn, whose bytes are base64url. */

const bytes = (most: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]*$/, "is not base64url")
    .max(Math.ceil((most * 4) / 3));
const credentialIdText = bytes(1023).min(1);
const part = bytes(4096).min(1);

/** Algorithms of the keys that passkeys may have, by COSE: EdDSA, ES256, RS256. */
export const passkeyAlgorithms: readonly number[] = [-8, -7, -257];

/** A passkey of the user. */
export const passkeySchema = z.object({
  /** For its removal. */
  id: z.string(),
  name: z.string(),
  /** Host of the proxy at which it works. */
  host: z.string(),
  created: z.string(),
  last_used: z.string().optional(),
});
export type Passkey = z.infer<typeof passkeySchema>;

const descriptorSchema = z.object({ type: z.literal("public-key"), id: z.string(), transports: z.array(z.string()) });

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export const assertionOptionsSchema = z.object({
  challenge: z.string(),
  rpId: z.string(),
  /** ms */
  timeout: z.int(),
  userVerification: z.literal("required"),
  /** Empty: any passkey of this site. */
  allowCredentials: z.array(descriptorSchema),
});
export type AssertionOptions = z.infer<typeof assertionOptionsSchema>;

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export const creationOptionsSchema = z.object({
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  challenge: z.string(),
  pubKeyCredParams: z.array(z.object({ type: z.literal("public-key"), alg: z.int() })),
  timeout: z.int(),
  excludeCredentials: z.array(descriptorSchema),
  authenticatorSelection: z.object({
    residentKey: z.literal("required"),
    requireResidentKey: z.literal(true),
    userVerification: z.literal("required"),
  }),
  attestation: z.literal("none"),
});
export type CreationOptions = z.infer<typeof creationOptionsSchema>;

/** What `toJSON()` of an assertion gives; the rest of it is not read. */
export const assertionSchema = z.object({
  id: credentialIdText,
  response: z.object({ clientDataJSON: part, authenticatorData: part, signature: part, userHandle: bytes(1023).optional() }),
});
export type AssertionJson = z.infer<typeof assertionSchema>;

/** What `toJSON()` of a new credential gives; the rest of it is not read. */
export const attestationSchema = z.object({
  response: z.object({ clientDataJSON: part, attestationObject: bytes(8192).min(1), transports: z.array(z.string().max(32)).max(16).default([]) }),
});
