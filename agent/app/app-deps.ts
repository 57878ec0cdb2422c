import type { JwtClaims } from "../../core/resources/app.ts";
import type { ServiceDeps } from "../service/service.ts";
import type { AppSessions } from "./audit/app-sessions.ts";
import type { OfferedApp } from "./offered-app.ts";
import type { Targets } from "./target-policy.ts";

/** Facts for a token that names the user to an application. */
export interface TokenFacts {
  readonly app: string;
  readonly uri: string;
  /** DER. */
  readonly userCertificate: Buffer;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  readonly claims: JwtClaims;
}

export interface AppToken {
  readonly token: string;
  readonly expires: Date;
}

/** Dependencies of the application service beyond those of every service. */
export interface AppDeps extends ServiceDeps {
  /** The currently offered application of this name. */
  readonly findApp: (name: string) => OfferedApp | undefined;
  readonly targets: Targets;
  /** A token of the auth service. Throws PlatformError. */
  readonly signToken: (facts: TokenFacts) => Promise<AppToken>;
  /** The audited sessions with web applications. */
  readonly sessions: AppSessions;
}
