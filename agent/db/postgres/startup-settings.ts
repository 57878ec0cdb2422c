import { maxText } from "../../../core/audit/event-spec.ts";
import { shownText } from "../../../core/bytes/shown-text.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxSettings } from "../../../core/kinds/db/db-events.ts";
import { cappedValue } from "../capped-text.ts";
import type { Parameter } from "./first-packet.ts";

/** Parameters of a startup packet that the event has in fields of their own. */
const others = new Set(["user", "database", "replication", "application_name"]);
/**
 * Words in the names of settings that can hold a secret: the first ones in any name, as clients may send a password as a setting; `key` only in an application's
 * own settings, whose names have a dot.
 */
const secret = /pass|pwd|secret|token|credential|jwt/i;
const key = /key/i;
/** The only setting of the server with such a name that a user can set. */
const notSecret = "password_encryption";

/**
 * The settings of a startup packet as `name=value`, those in `options` too: they can change what statements do (`search_path`, `role`). Throws PlatformError
 * `invalid` where there are more of them than an event has room for. Pure.
 */
export function startupSettings(parameters: readonly Parameter[]): readonly string[] {
  const settings = parameters.filter(({ name }) => !others.has(name)).flatMap(settingsOf);
  if (settings.length <= maxSettings) return settings.map((setting) => cappedValue(setting, maxText));
  throw new PlatformError("invalid", `the client states ${settings.length} settings in its startup packet; ${maxSettings} are allowed`);
}

function settingsOf({ name, value }: Parameter): readonly string[] {
  if (name === "options") return splitOptions(value).map(optionText);
  return [settingText(shownText(Buffer.from(name, "latin1")), shownText(value))];
}

function settingText(name: string, value: string): string {
  const isSecret = (secret.test(name) && name !== notSecret) || (name.includes(".") && key.test(name));
  return `${name}=${isSecret ? "***" : value}`;
}

/** `-c name=value`, `-cname=value` and `--name=value` are settings; any other argument stays as it is. */
function optionText(argument: string): string {
  const setting = /^(?:-c|--)?([^-=][^=]*)=(.*)$/s.exec(argument);
  return setting === null ? argument : settingText(setting[1] ?? "", setting[2] ?? "");
}

/** Arguments of `options`, as the server splits them: by blanks, with a backslash before those that belong to an argument. */
function splitOptions(options: Buffer): readonly string[] {
  const words = options.toString("latin1").match(/(?:\\.|[^\\\t\n\v\f\r ])+/gs) ?? [];
  const bytes = words.map((word) => Buffer.from(word.replaceAll(/\\(.)/gs, "$1"), "latin1"));
  return bytes.map(shownText).filter((argument) => argument !== "-c");
}
