import { randomBytes } from "node:crypto";
import { currentStep, oneTimeCode } from "./one-time-code.ts";

export interface Accepted {
  readonly password: string;
  /** The code that the authenticator app shows next. */
  code(): string;
}

/** Uses an invite link like a person: opens it in a browser, which is `curl`, scans the code, chooses a password. */
export async function acceptInvite(link: string, curl: (args: readonly string[]) => Promise<string>): Promise<Accepted> {
  const page = await curl(["-fsS", link]);
  const uri = /href="(otpauth:[^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
  if (uri === undefined) throw new Error(`there is no second factor in ${page}`);
  const password = randomBytes(12).toString("base64url");
  const used = currentStep();
  const fields = Object.entries({ password, repeat: password, code: oneTimeCode(uri, used) });
  await curl(["-fsS", ...fields.flatMap(([name, value]) => ["--data-urlencode", `${name}=${value}`]), link]);
  // Each counts once, and the next one is taken ahead of its time.
  return { password, code: () => oneTimeCode(uri, Math.max(currentStep(), used + 1)) };
}
