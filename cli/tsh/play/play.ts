import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { exitCodes, PlatformError } from "../../../core/errors/platform-error.ts";
import { headerFacts } from "../../../core/recording/member.ts";
import { documentKind, readDocument } from "../../../core/resources/document.ts";
import { parseDuration } from "../../../core/resources/duration.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { withAuth } from "../../profile/reach-cluster.ts";
import { speeds } from "./playback.ts";
import { playRecording } from "./players.ts";

const sessionId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Maximum size of a file to play, bytes. */
const maxFile = 1024 * 1024 * 1024;
/** Length within which the header of a file must be, bytes. */
const maxHeader = 65_536;

/** `tsh play <session|file>`: plays it with the player of its format, or prints it. Exit status 2 for a damaged one that is printed. */
export async function play(call: Call): Promise<Result> {
  const { io, options } = call;
  const [name = ""] = call.args;
  const show = { speed: speedOption(options.text("speed")), from: fromOption(options.text("from")) };
  const recording = sessionId.test(name)
    ? await withAuth(io, await chosenProfile(call), (client) => fetchRecording(client, name))
    : await readRecording(name);
  const wanted = options.text("format");
  const damages = await playRecording({ ...recording, name, wanted, show }, io);
  if (damages === 0) return textResult("");
  const result = textResult("", [`the recording is damaged or cut at ${placesText(damages)}: the intact parts are shown`]);
  // For a program, the intact parts are not the recording.
  return wanted === undefined || wanted === "pty" ? result : { ...result, status: exitCodes.invalid };
}

function placesText(count: number): string {
  return count === 1 ? "one place" : `${count} places`;
}

/** A recording in a file: its header states the format. */
async function readRecording(path: string): Promise<FetchedRecording> {
  try {
    const { size } = await stat(path);
    if (size > maxFile) throw new PlatformError("limit", `${path} is larger than ${maxFile} bytes`);
    const file = await readFile(path);
    return { file, format: formatSchema.safeParse(headerFacts(file.subarray(0, maxHeader))).data?.format };
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new PlatformError("invalid", `could not read ${path}: ${message}`, { cause });
    throw new PlatformError("not_found", `${path} is neither a session id nor a file`, { hint: "tctl recordings ls lists the ids", cause });
  }
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

/** Maximum size of a recording in memory, bytes: more than the auth service accepts. */
const maxBytes = 256 * 1024 * 1024;

/** Format of a recording; other facts do not matter here, and a newer auth service may state more. */
const formatSchema = z.object({ format: z.string().optional() });

const formatDocument = documentKind("recording", formatSchema, { what: "a recording" });

interface FetchedRecording {
  /** Compressed, or as it is. */
  readonly file: Buffer;
  /** Undefined: the usual one. */
  readonly format: string | undefined;
}

/** One recording in its current state at the auth service. */
async function fetchRecording(client: AuthClient, sessionId: string): Promise<FetchedRecording> {
  const parts: Uint8Array[] = [];
  let format: string | undefined;
  let bytes = 0;
  for await (const { data, recordingJson } of client.readRecording({ sessionId }, { timeoutMs: 0 })) {
    if (recordingJson !== "") format = readDocument(formatDocument, recordingJson).format;
    bytes += data.length;
    if (bytes > maxBytes) throw new PlatformError("limit", `the recording is larger than ${maxBytes} bytes, the maximum that can be shown`);
    parts.push(data);
  }
  return { file: Buffer.concat(parts), format };
}
