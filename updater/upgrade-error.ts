import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";

/** What ends a step of the updater: `reason` is what the tick reports, `message` a sentence for people without a secret. */
export class UpgradeError extends Error {
  readonly reason: UpgradeReason;

  constructor(reason: UpgradeReason, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "UpgradeError";
    this.reason = reason;
  }
}
