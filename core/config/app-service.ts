import { isAbsolute } from "node:path";
import { z } from "zod";
import { isTemplate, parseTemplate } from "../access/templates.ts";
import { errorText } from "../errors/platform-error.ts";
import { appNameText, appShape, checkAppSettings } from "../resources/app.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { isPrefix } from "../transport/ip-prefix.ts";
import { chosenByLabels, onOff } from "./setting.ts";

/** Maximum applications of one agent, from the file and the cluster together. */
export const maxApps = 1000;
/** Name of the application that `debug_app` offers. */
export const dumperName = "dumper";

const configuredApp = z
  .strictObject({ name: appNameText, description: z.string().max(1000).optional(), labels: labelsSchema.default({}), ...appShape(onOff) })
  .superRefine(checkAppSettings)
  .superRefine(checkTemplates);
export type ConfiguredApp = z.infer<typeof configuredApp>;

const prefixes = z.array(z.string().refine(isPrefix, "must be an IP address or a prefix such as 10.0.0.0/8")).max(256);

/** Where applications may be: IP prefixes of the addresses to which their names resolve, and Unix sockets of applications of the cluster. */
const targetPolicy = z
  .strictObject({
    allow: prefixes.min(1, "must not be an empty list").optional(),
    deny: prefixes.optional(),
    unix: z.array(z.string().refine(isAbsolute, "must be an absolute path")).max(64).default([]),
  })
  .refine(({ allow, deny }) => allow === undefined || deny === undefined, "must have allow or deny, not both");
export type TargetPolicy = z.infer<typeof targetPolicy>;

export const appServiceSchema = z
  .strictObject({
    enabled: onOff.default(true),
    /** Offers the application `dumper`, which shows the requests that it gets. */
    debug_app: onOff.default(false),
    apps: z
      .array(configuredApp)
      .max(maxApps)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "must not name an application twice")
      .default([]),
    /** `app` resources of the cluster that this agent offers too: those whose labels match one of these. */
    resources: chosenByLabels,
    target_policy: targetPolicy.prefault({}),
  })
  .refine(({ debug_app: hasDumper, apps }) => !hasDumper || apps.every(({ name }) => name !== dumperName), {
    path: ["debug_app"],
    message: `offers an application with the name ${dumperName}, which apps has too; rename that one`,
  });

function checkTemplates(
  { rewrite }: { readonly rewrite?: { readonly headers: readonly { readonly value: string }[] } | undefined },
  context: z.RefinementCtx,
) {
  for (const [index, { value }] of (rewrite?.headers ?? []).entries()) {
    const fault = templateFault(value);
    if (fault !== undefined)
      context.addIssue({ code: "custom", path: ["rewrite", "headers", index], message: `holds a template that cannot be read: ${fault}` });
  }
}

/** What is wrong with the template in a header's value; undefined: nothing. `{{internal.jwt}}` is the token itself. Pure. */
export function templateFault(value: string): string | undefined {
  const rest = value.replaceAll(jwtTemplate, "");
  if (!isTemplate(rest)) return undefined;
  try {
    parseTemplate(rest);
    return undefined;
  } catch (thrown) {
    return errorText(thrown);
  }
}

/** Stands for the token that names the user. */
export const jwtTemplate = /\{\{\s*internal\.jwt\s*\}\}/g;
