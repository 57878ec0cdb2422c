import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { type RecordingFormat, type RecordingPlayer, recordingFormat, recordingFormats } from "../../../core/recording/formats.ts";
import type { CliIo } from "../../io.ts";
import { openTape, type Tape } from "./open-tape.ts";
import { PlainText } from "./plain-text.ts";
import { printAll, type ShowAsk, showTape } from "./show-tape.ts";

/** An opened recording, as far as it is intact. */
interface Opened {
  /** Number of gaps. */
  readonly damages: number;
  /** Shows it at its pace on a terminal, all at once anywhere else. */
  show(ask: ShowAsk, io: CliIo): Promise<void>;
  /** The recording in its own format, uncompressed. */
  content(): Iterable<string>;
  /** The lines that were shown. Not called for a format without text. */
  text(): Iterable<string>;
}

/** Each throws `invalid` for a file without any part of such a recording; `name` is for the message. */
const players: Readonly<Record<RecordingPlayer, (file: Buffer, name: string) => Opened>> = {
  terminal: (file, name) => {
    const tape = openTape(file, name);
    return { damages: tape.damages, show: (ask, io) => showTape(tape, ask, io), content: () => castOf(tape), text: () => textOf(tape) };
  },
};

export interface PlayAsk {
  readonly file: Buffer;
  /** The session's id, or the file's path. */
  readonly name: string;
  /** As stated by the auth service, or by the recording itself; undefined: the usual one. */
  readonly format: string | undefined;
  /** `--format`: how to print it instead of playing it. */
  readonly wanted: string | undefined;
  readonly show: ShowAsk;
}

/** Plays a recording, or prints it, with the player of its format. Returns the number of gaps. Throws `invalid`. */
export async function playRecording(ask: PlayAsk, io: CliIo): Promise<number> {
  const { name, wanted } = ask;
  const format = knownFormat(ask.format, name);
  const { player, hasText } = recordingFormats[format];
  const isText = wanted === "text";
  if ((isText && !hasText) || (wanted !== undefined && !["pty", "text", format].includes(wanted)))
    throw new PlatformError("invalid", `${name} is a recording of format ${format}, which cannot be printed as ${wanted}`);
  const opened = players[player](ask.file, name);
  if (isText) await printAll(opened.text(), io);
  else if (wanted === format) await printAll(opened.content(), io);
  else await opened.show(ask.show, io);
  return opened.damages;
}

function knownFormat(format: string | undefined, name: string): RecordingFormat {
  const known = recordingFormat(format);
  if (known !== undefined) return known;
  throw new PlatformError(
    "invalid",
    `${name} is a recording of format ${JSON.stringify(format?.slice(0, 64))}, which this version of tsh cannot play`,
    {
      hint: "upgrade tsh",
    },
  );
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
