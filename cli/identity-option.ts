import type { OptionSpec } from "./command.ts";

export const identityOption: OptionSpec = {
  flags: "-i, --identity <file>",
  text: "identity file of `tctl auth sign` to use instead of a login; needs --proxy or TSH_PROXY",
};
