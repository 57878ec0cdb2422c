interface RecordingFormatRow {
  /** Of the uncompressed recording. */
  readonly contentType: string;
  /** End of its file's name, after the session's id. A file consists of gzip members (member.ts); its first line is a header, from which headerFacts reads. */
  readonly ending: string;
  /** How `tsh play` shows it. */
  readonly player: string;
  /** How else than in this format `tsh play --format` prints it. */
  readonly prints: readonly ("text" | "json" | "yaml")[];
}

/** Formats of recordings. A service with a format of its own adds a row here; the compiler asks for its player in cli/tsh/play. */
export const recordingFormats = {
  /** Of a terminal. */
  asciicast: { contentType: "application/x-asciicast", ending: "cast.gz", player: "terminal", prints: ["text"] },
  /** Of a session with a database. */
  statements: { contentType: "application/x-ndjson", ending: "statements.gz", player: "statements", prints: ["text", "json", "yaml"] },
  /** Of requests to a web application, for some minutes. */
  requests: { contentType: "application/x-ndjson", ending: "requests.gz", player: "requests", prints: ["text", "json", "yaml"] },
} as const satisfies Readonly<Record<string, RecordingFormatRow>>;

export type RecordingFormat = keyof typeof recordingFormats;
export type RecordingPlayer = (typeof recordingFormats)[RecordingFormat]["player"];

/** Format of a recording that states none, as those of terminals do: the version before refuses any statement. */
export const usualFormat = "asciicast" satisfies RecordingFormat;

/** The format of this name; undefined when this version does not know it. */
export function recordingFormat(name: string = usualFormat): RecordingFormat | undefined {
  return Object.keys(recordingFormats).find((format): format is RecordingFormat => format === name);
}
