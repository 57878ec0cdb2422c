import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";

/** An error that ends a step of the updater: the tick reports `reason`; `message` is a sentence for users without secrets. */
export class UpgradeError extends Error {
  readonly reason: UpgradeReason;

  constructor(reason: UpgradeReason, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "UpgradeError";
    this.reason = reason;
  }
}
