import { TOTP, URI } from "otpauth";

/** The code that an authenticator app shows for an `otpauth://` address in a 30-second step (the Unix time divided by 30). */
export function oneTimeCode(uri: string, step = currentStep()): string {
  const totp = URI.parse(uri);
  if (!(totp instanceof TOTP)) throw new Error("not a time-based code");
  return totp.generate({ timestamp: step * 30_000 });
}

export function currentStep(now = Date.now()): number {
  return Math.floor(now / 30_000);
}

/** The code that an authenticator app shows at `time`. */
export function codeAt(uri: string, time: Date): string {
  return oneTimeCode(uri, currentStep(time.getTime()));
}
