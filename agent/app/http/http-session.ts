import type { Log } from "../../../core/log/log.ts";
import type { Traits } from "../../../core/resources/user.ts";
import type { AppVisit } from "../audit/app-sessions.ts";
import type { OfferedApp } from "../offered-app.ts";
import type { Assertion } from "./assertion.ts";
import type { Upstream } from "./upstream.ts";

/** One connection of a user to a web application: the state that its requests share. */
export interface HttpSession {
  readonly app: OfferedApp;
  readonly traits: Traits;
  /** IP address of the user; empty when not known. */
  readonly clientIp: string;
  /** Name of this agent's host. */
  readonly server: string;
  readonly assertion: Assertion;
  readonly upstream: Upstream;
  readonly visit: Pick<AppVisit, "ready" | "request" | "refusedOrigin">;
  /** The user did something. */
  readonly touch: () => void;
  readonly log: Pick<Log, "info" | "debug">;
  /** The end of the connection. */
  readonly signal: AbortSignal;
}
