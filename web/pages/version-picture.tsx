import { countText } from "../text/size.ts";
import { versionShares } from "../text/version-shares.ts";

export interface VersionPictureFacts {
  readonly versions: readonly string[];
  /** Those of the channels. */
  readonly wanted: readonly string[];
}

/** The versions of the fleet as a bar, each with its share, and in words below. What is wanted has the accent, what is not is grey. */
export function VersionPicture({ versions, wanted }: VersionPictureFacts) {
  const shares = versionShares(versions, wanted);
  const firstOther = shares.filter(({ isWanted }) => isWanted).length;
  const look = (at: number): string => (at < firstOther ? "part-wanted" : `part-${(at - firstOther) % 4}`);
  return (
    <figure class="versions">
      <div class="bar" aria-hidden="true">
        {shares.map(({ version, share }, at) => (
          <span key={version} class={`part ${look(at)}`} style={{ width: `${share * 100}%` }} />
        ))}
      </div>
      <figcaption>
        <ul>
          {shares.map(({ version, count, isWanted }, at) => (
            <li key={version}>
              <span class={`key ${look(at)}`} aria-hidden="true" />
              {version}
              {isWanted && " (wanted)"}: {countText(count, "host")}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}
