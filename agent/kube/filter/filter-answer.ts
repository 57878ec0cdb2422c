import { Transform } from "node:stream";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { ListFilter, type Shows } from "./list-filter.ts";
import { WatchFilter } from "./watch-filter.ts";

interface AnswerFacts {
  /** As the request says (judge/read-request). */
  readonly many: "list" | "watch";
  /** Headers of the answer. */
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly shows: Shows;
}

/**
 * Passes on what may be shown of a successful answer with many objects, as a stream with back-pressure; an error's answer needs no filter. Its length is not known
 * beforehand. Throws `unavailable` for an answer that is not JSON, which is all that the request accepted. The stream fails with `unavailable` for JSON that is
 * not a list or a watch.
 */
export function filterAnswer({ many, contentType = "", contentEncoding = "identity", shows }: AnswerFacts): Transform {
  const [type = ""] = contentType.split(";");
  if (type.trim().toLowerCase() !== "application/json" || contentEncoding.trim().toLowerCase() !== "identity") {
    throw new PlatformError("unavailable", `the API server answered in ${JSON.stringify(type.slice(0, 64))}, which cannot be filtered by roles`);
  }
  const filter = many === "list" ? new ListFilter(shows) : new WatchFilter(shows);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      attempt(done, () => filter.write(chunk));
    },
    flush(done) {
      attempt(done, () => {
        filter.end();
        return undefined;
      });
    },
  });
}

function attempt(done: (error: Error | null, data?: Buffer) => void, run: () => Buffer | undefined): void {
  try {
    const shown = run();
    if (shown === undefined || shown.length === 0) done(null);
    else done(null, shown);
  } catch (thrown) {
    const { message } = toPlatformError(thrown);
    done(new PlatformError("unavailable", `the API server's answer could not be filtered by roles: ${message}`, { cause: errorText(thrown) }));
  }
}
