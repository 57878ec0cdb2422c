import { readFile, stat } from "node:fs/promises";
import { openAuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { parseDuration } from "../../../core/resources/duration.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { dialProxy } from "../../profile/dial-proxy.ts";
import { otherAuthority } from "../../profile/other-authority.ts";
import { requireValid } from "../../profile/profile.ts";
import { chosenProfile } from "../with-profile.ts";
import { fetchRecording } from "./fetch-recording.ts";
import { openTape, type Tape } from "./open-tape.ts";
import { PlainText } from "./plain-text.ts";
import { speeds } from "./playback.ts";
import { printAll, showTape } from "./show-tape.ts";

const sessionId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Maximum size of a file to play, bytes. */
const maxFile = 1024 * 1024 * 1024;

/** `tsh play <session|file>`: plays it, or prints it as asciicast or text. */
export async function play(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const ask = { speed: speedOption(options.text("speed")), from: fromOption(options.text("from")) };
  const file = sessionId.test(name) ? await fetched(call, name) : await readRecording(name);
  const tape = openTape(file, name);
  const notes = tape.damages === 0 ? [] : [`the recording is damaged or cut at ${placesText(tape.damages)}: the intact parts are shown`];
  const format = options.text("format");
  if (format === "asciicast") await printAll(castOf(tape), io);
  else if (format === "text") await printAll(textOf(tape), io);
  else await showTape(tape, ask, io);
  return textResult("", notes);
}

function placesText(count: number): string {
  return count === 1 ? "one place" : `${count} places`;
}

async function fetched(call: Call, name: string): Promise<Buffer> {
  const { facts, secrets, hostCaPem } = await chosenProfile(call);
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialProxy(facts, call.io), ca: hostCaPem, credentials });
  return await fetchRecording(connection.client, name).catch((thrown: unknown) => {
    throw otherAuthority(thrown, facts.proxy);
  });
}

async function readRecording(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > maxFile) throw new PlatformError("limit", `${path} is larger than ${maxFile} bytes`);
    return await readFile(path);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new PlatformError("invalid", `could not read ${path}: ${message}`, { cause });
    throw new PlatformError("not_found", `${path} is neither a session id nor a file`, { hint: "tctl recordings ls lists the ids", cause });
  }
}

function* castOf(tape: Tape): Generator<string> {
  yield encodeCastHeader(tape.header);
  for (const event of tape.events()) yield encodeCastEvent(event);
}

function* textOf(tape: Tape): Generator<string> {
  const text = new PlainText();
  for (const { kind, data } of tape.events()) if (kind === "o") yield text.take(data.toWellFormed());
  yield text.end();
}

function speedOption(text: string | undefined): number {
  const speed = text === undefined ? 1 : Number(text);
  if (speed >= speeds.least && speed <= speeds.most) return speed;
  throw new PlatformError("invalid", `--speed: ${JSON.stringify(text)} is not a valid speed`, { hint: `give ${speeds.least} to ${speeds.most}` });
}

/** `90s`, `2m`, or minutes and seconds, `1:30`. */
function fromOption(text: string | undefined): number {
  if (text === undefined) return 0;
  const parts = /^(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})$/.exec(text);
  if (parts === null) return parseDuration(text);
  return Number(parts[1] ?? 0) * 3600 + Number(parts[2]) * 60 + Number(parts[3]);
}
