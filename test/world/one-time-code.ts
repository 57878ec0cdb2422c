import { URI } from "otpauth";

/** The code that an authenticator app shows for an `otpauth://` address, and when it changes. */
export function oneTimeCode(uri: string, timestamp = Date.now()): string {
  const totp = URI.parse(uri);
  if (!("period" in totp)) throw new Error("not a time-based code");
  return totp.generate({ timestamp });
}
