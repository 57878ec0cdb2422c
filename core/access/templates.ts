import { PlatformError } from "../errors/platform-error.ts";
import type { Traits } from "../resources/user.ts";

/**
 * The texts that one entry of a role stands for. `{{internal.logins}}` and `{{external.x}}` stand for every value of the user's
 * trait, `{{email.local(external.email)}}` for what is before its `@`; text around a template is kept, once for each value. A
 * trait that the user lacks stands for nothing. Throws `invalid` for a template that cannot be read.
 */
export function expandTemplate(text: string, traits: Traits): readonly string[] {
  if (!isTemplate(text)) return [text];
  const { before, trait, isEmail, after } = parseTemplate(text);
  const values = Object.hasOwn(traits, trait) ? (traits[trait] ?? []) : [];
  const wanted = isEmail ? values.flatMap(localPart) : values;
  return wanted.filter((value) => value !== "").map((value) => `${before}${value}${after}`);
}

/** Whether braces make this a template, readable or not. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("}}");
}

interface Template {
  readonly before: string;
  readonly trait: string;
  readonly isEmail: boolean;
  readonly after: string;
}

const shape = /^([^{}]*)\{\{\s*(email\.local\(\s*)?(?:internal|external)\.([A-Za-z0-9_-]+)\s*(\)\s*)?\}\}([^{}]*)$/;
const quotedShape = /^([^{}]*)\{\{\s*(email\.local\(\s*)?(?:internal|external)\["([^"{}]{1,64})"\]\s*(\)\s*)?\}\}([^{}]*)$/;

/** Throws `invalid`, naming what may be written. */
export function parseTemplate(text: string): Template {
  const found = shape.exec(text) ?? quotedShape.exec(text);
  const [, before = "", opened, trait = "", closed, after = ""] = found ?? [];
  if (found === null || (opened === undefined) !== (closed === undefined)) {
    throw new PlatformError("invalid", `the template ${JSON.stringify(text.slice(0, 200))} cannot be read`, {
      hint: 'write {{internal.logins}}, {{external.trait}}, {{external["trait"]}} or {{email.local(external.email)}}',
    });
  }
  return { before, trait, isEmail: opened !== undefined, after };
}

function localPart(address: string): readonly string[] {
  const at = address.lastIndexOf("@");
  return at > 0 ? [address.slice(0, at)] : [];
}
