import { z } from "zod";

/** A new authenticator of the user, which does not count yet: the only answer that has its secret. */
export const newAuthenticatorSchema = z.object({
  /** `otpauth://totp/…` */
  uri: z.string(),
  /** In groups of four, for typing. */
  secret: z.string(),
  /** The URI as a QR code: a path of SVG in a square of `size` units. */
  picture: z.object({ size: z.int(), path: z.string() }),
});
export type NewAuthenticator = z.infer<typeof newAuthenticatorSchema>;
