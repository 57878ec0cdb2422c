import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { type RecordingFormat, type RecordingPlayer, recordingFormat, recordingFormats } from "../../../core/recording/formats.ts";
import type { CliIo } from "../../io.ts";
import { writeResult } from "../../output.ts";
import { openTape, type Tape } from "./open-tape.ts";
import { PlainText } from "./plain-text.ts";
import { openRequests } from "./request-tape.ts";
import { printAll, type ShowAsk, type ShownTape, showTape } from "./show-tape.ts";
import { openStatements } from "./statement-tape.ts";

/** An opened recording, as far as it is intact. */
interface Opened {
  /** Number of gaps. */
  readonly damages: number;
  /** Shows it at its pace on a terminal, all at once anywhere else. */
  show(ask: ShowAsk, io: CliIo): Promise<void>;
  /** The recording in its own format, uncompressed. */
  content(): Iterable<string>;
  /** The lines that are shown. */
  text(): Iterable<string>;
  /** For programs. Not called for a format that has none. */
  records(): Iterable<unknown>;
}

/** Each throws `invalid` for a file without any part of such a recording; `name` is for the message. */
const players: Readonly<Record<RecordingPlayer, (file: Buffer, name: string) => Opened>> = {
  terminal: (file, name) => {
    const tape = openTape(file, name);
    const show: Opened["show"] = (ask, io) => showTape(tape, ask, io);
    return { damages: tape.damages, show, content: () => castOf(tape), text: () => textOf(tape), records: () => [] };
  },
  statements: (file, name) => {
    const tape = openStatements(file, name);
    const { damages, content, text, statements } = tape;
    const show: Opened["show"] = (ask, io) => showTape(io.stdout.isTTY === true ? forTerminal(tape) : tape, ask, io);
    return { damages, show, content, text, records: statements };
  },
  requests: (file, name) => {
    const tape = openRequests(file, name);
    const { damages, content, text, requests } = tape;
    const show: Opened["show"] = (ask, io) => showTape(io.stdout.isTTY === true ? forTerminal(tape) : tape, ask, io);
    return { damages, show, content, text, records: requests };
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
  const { player, prints } = recordingFormats[format];
  if (wanted !== undefined && !["pty", format, ...prints].includes(wanted))
    throw new PlatformError("invalid", `${name} is a recording of format ${format}, which cannot be printed as ${wanted}`);
  const opened = players[player](ask.file, name);
  if (wanted === "json" || wanted === "yaml") await printRecords(opened.records(), wanted, io);
  else if (wanted === "text") await printAll(opened.text(), io);
  else if (wanted === format) await printAll(opened.content(), io);
  else await opened.show(ask.show, io);
  return opened.damages;
}

/** Each as soon as it is read, until the reader leaves. */
async function printRecords(records: Iterable<unknown>, format: "json" | "yaml", io: CliIo): Promise<void> {
  let isContinued = false;
  for (const one of records) {
    if (!(await writeResult(io, { data: [one], text: "", many: true, isContinued }, format))) return;
    isContinued = true;
  }
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

/** A terminal that reads keys does not return the cursor to the start of the line by itself. */
function forTerminal(tape: ShownTape): ShownTape {
  return {
    length: tape.length,
    events: function* () {
      for (const event of tape.events()) yield { ...event, data: event.data.replaceAll("\n", "\r\n") };
    },
  };
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
