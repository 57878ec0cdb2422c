import { PlatformError } from "../errors/platform-error.ts";
import type { Traits } from "../resources/user.ts";
import { compileReplacer, replaceMatches } from "./expression/replace-matches.ts";

/**
 * Expands one entry of a role. `{{internal.logins}}` and `{{external.x}}` stand for every value of the user's
 * trait, `{{email.local(external.email)}}` for the part before its `@`, `{{regexp.replace(external.x, "expression", "$1")}}` for
 * those values that match, replaced; text around a template is kept, once for each value. A trait that the user lacks stands
 * for nothing. Throws `invalid` for a template that cannot be read.
 */
export function expandTemplate(text: string, traits: Traits): readonly string[] {
  if (!isTemplate(text)) return [text];
  const { before, trait, change, after } = parseTemplate(text);
  const values = Object.hasOwn(traits, trait) ? (traits[trait] ?? []) : [];
  return values
    .flatMap((value) => change(value) ?? [])
    .filter((value) => value !== "")
    .map((value) => `${before}${value}${after}`);
}

/** Whether this has the braces of a template, valid or not. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("}}");
}

interface Template {
  readonly before: string;
  readonly trait: string;
  /** The result for a value of the trait; undefined for none. */
  readonly change: (value: string) => string | undefined;
  readonly after: string;
}

const variable = String.raw`(?:internal|external)(?:\.([A-Za-z0-9_-]+)|\["([^"{}]{1,64})"\])`;
/** Go string literals: in double quotes with \\ and \", or verbatim in back quotes. */
const quoted = String.raw`("(?:[^"\\]|\\["\\])*"|\`[^\`]*\`)`;
const around = (inner: string): RegExp => new RegExp(String.raw`^([^{}]*)\{\{\s*${inner}\s*\}\}([^{}]*)$`);

const plainShape = around(variable);
const emailShape = around(String.raw`email\.local\(\s*${variable}\s*\)`);
const replaceShape = around(String.raw`regexp\.replace\(\s*${variable}\s*,\s*${quoted}\s*,\s*${quoted}\s*\)`);

/** Throws `invalid`, naming the valid forms. */
export function parseTemplate(text: string): Template {
  const replacing = replaceShape.exec(text);
  if (replacing !== null) {
    const [, before = "", name, odd, expression = "", replacement = "", after = ""] = replacing;
    const replacer = compileReplacer(unquote(expression), unquote(replacement));
    return { before, trait: name ?? odd ?? "", change: (value) => replaceMatches(replacer, value), after };
  }
  const ofEmail = emailShape.exec(text);
  const found = ofEmail ?? plainShape.exec(text);
  if (found === null) {
    throw new PlatformError("invalid", `the template ${JSON.stringify(text.slice(0, 200))} cannot be read`, {
      hint: 'write {{internal.logins}}, {{external.trait}}, {{external["trait"]}}, {{email.local(external.email)}} or {{regexp.replace(external.email, "^(.*)@example[.]com$", "$1")}}',
    });
  }
  const [, before = "", name, odd, after = ""] = found;
  return { before, trait: name ?? odd ?? "", change: ofEmail === null ? (value) => value : localPart, after };
}

function unquote(literal: string): string {
  const inner = literal.slice(1, -1);
  return literal.startsWith("`") ? inner : inner.replace(/\\(["\\])/g, "$1");
}

function localPart(address: string): string | undefined {
  const at = address.lastIndexOf("@");
  return at > 0 ? address.slice(0, at) : undefined;
}
