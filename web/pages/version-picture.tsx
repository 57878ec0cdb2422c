import { countText } from "../text/size.ts";
import { versionShares } from "../text/version-shares.ts";

/** The versions of the fleet as a bar, each with its share, and in words below. */
export function VersionPicture({ versions }: { readonly versions: readonly string[] }) {
  const shares = versionShares(versions);
  return (
    <figure class="versions">
      <div class="bar" aria-hidden="true">
        {shares.map(({ version, share }, at) => (
          <span key={version} class={`part part-${at % 6}`} style={{ width: `${share * 100}%` }} />
        ))}
      </div>
      <figcaption>
        <ul>
          {shares.map(({ version, count }, at) => (
            <li key={version}>
              <span class={`key part-${at % 6}`} aria-hidden="true" />
              {version}: {countText(count, "host")}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}
