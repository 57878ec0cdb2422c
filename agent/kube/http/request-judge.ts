import { requireUnexpired, type ServedGrant } from "../../../core/access/authorize.ts";
import { decideKube, type KubeVerdict } from "../../../core/access/kube/decide-kube.ts";
import type { KubeAsk, WantedSubjects } from "../../../core/access/kube/kube-ask.ts";
import { ownRulesText } from "../../../core/access/kube/own-rules-text.ts";
import { stillHolds } from "../../../core/access/kube/still-holds.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { fieldOf, type WholeResponse } from "../../http/exchange.ts";
import { readImpersonation } from "../judge/impersonation.ts";
import { groupVersion } from "../judge/kind-table.ts";
import { nameInBody, withBodyName } from "../judge/name-in-body.ts";
import { type KubeRequest, readRequest } from "../judge/read-request.ts";
import { isOn } from "../judge/read-target.ts";
import { reviewedAsk } from "../judge/review.ts";
import type { OfferedCluster } from "../offered-cluster.ts";
import type { AskedOfJudge, Judged, StreamTarget } from "./judged.ts";
import { parsedReview, reviewResponse } from "./review-response.ts";
import { plainStatus } from "./status-response.ts";
import { unreachedError } from "./unreached-error.ts";

/** A review of the caller's own rights, and the action that it asks about. */
interface Reviewed {
  readonly review: ReturnType<typeof parsedReview>;
  readonly ask: KubeAsk;
}

/** Decides on the requests of one connection, by the roles that apply at that moment. */
export class RequestJudge {
  readonly #cluster: Pick<OfferedCluster, "kinds" | "name">;
  readonly #now: () => Date;
  #grant: ServedGrant<"kube">;

  constructor(cluster: Pick<OfferedCluster, "kinds" | "name">, grant: ServedGrant<"kube">, now: () => Date) {
    this.#cluster = cluster;
    this.#grant = grant;
    this.#now = now;
  }

  get grant(): ServedGrant<"kube"> {
    return this.#grant;
  }

  /** Access has changed. */
  follow(grant: ServedGrant<"kube">): void {
    this.#grant = grant;
  }

  /** What a request does, and as whom. Throws PlatformError: `unauthenticated` once the user's certificate has expired, as an API server does. */
  readonly judge = async (asked: AskedOfJudge): Promise<Judged> => {
    requireUnexpired(this.#grant.identity, this.#now());
    const wanted = readImpersonation(asked.headers.flat());
    const request = await this.#named(await this.#read(asked), wanted, asked);
    const reviewed = await this.#reviewed(request, asked);
    if (reviewed !== undefined) return this.#judgeReview(request, reviewed, wanted);
    const decide = (): KubeVerdict => decideKube(this.#grant.kube, request.ask, wanted);
    const verdict = decide();
    const judged = judgedOf(request, verdict, () => requireStill(verdict, decide()));
    const warning = isReviewOf(request, "selfsubjectrulesreviews") ? ownRulesText(this.#grant.kube, verdict.roles) : judged.warning;
    return { ...judged, warning, answer: this.#undeletable(judged) };
  };

  /** The refusal of kinds that the API server does not delete together; undefined for others. */
  #undeletable({ deletion }: Judged): WholeResponse | undefined {
    if (deletion === undefined) return undefined;
    const { group, version, resource, namespace } = deletion.place;
    const kind = this.#cluster.kinds.table.find(groupVersion(group, version), resource);
    const can = kind?.hasCollectionDelete === true && kind.isNamespaced === (namespace !== "");
    return can ? undefined : plainStatus(405, "the server does not allow this method on the requested resource");
  }

  /**
   * What a review of the caller's own rights asks about; undefined for any other request, for an action that no request performs, and for a kind that cannot be
   * read.
   */
  async #reviewed(request: KubeRequest, { body }: AskedOfJudge): Promise<Reviewed | undefined> {
    if (!isReviewOf(request, "selfsubjectaccessreviews")) return undefined;
    const { kinds } = this.#cluster;
    const review = parsedReview(await body());
    let ask = reviewedAsk(review, kinds.table);
    if (ask !== undefined && "unknown" in ask) {
      // The group's own server may be down: the API server answers the review nevertheless.
      await kinds.readGroup(ask.unknown.group).catch(() => {});
      ask = reviewedAsk(review, kinds.table);
    }
    return ask === undefined || "unknown" in ask ? undefined : { review, ask };
  }

  /** The API server is asked with the identity that the reviewed request would have; it is not asked about what the roles refuse. */
  #judgeReview(request: KubeRequest, { review, ask }: Reviewed, wanted: WantedSubjects): Judged {
    const decide = (of: KubeAsk): KubeVerdict => {
      const { user, groups, roles } = decideKube(this.#grant.kube, of, wanted);
      return { user, groups, roles };
    };
    const judgedAs = (of: KubeAsk): Judged => {
      const verdict = decide(of);
      return judgedOf(request, verdict, () => requireStill(verdict, decide(of)));
    };
    try {
      return judgedAs(ask);
    } catch (thrown) {
      return { ...judgedAs(request.ask), answer: reviewResponse(review, toPlatformError(thrown).message) };
    }
  }

  /** An unknown kind may be new: the API server's list is read once more. A known list is read again in the background as it ages, and waited for once it is old. */
  async #read({ method, target, isUpgrade }: AskedOfJudge): Promise<KubeRequest> {
    const { kinds, name } = this.#cluster;
    const head = { method, target, isUpgrade };
    const first = readRequest(head, kinds.table);
    if ("unknown" in first) {
      await kinds.read(first.unknown.groupVersion).catch((thrown: unknown) => {
        throw unreachedError(name, thrown);
      });
    } else {
      const aged = first.place && kinds.refresh(groupVersion(first.place.group, first.place.version));
      if (aged === undefined) return first;
      await aged;
    }
    const second = readRequest(head, kinds.table);
    if (!("unknown" in second)) return second;
    const { unknown } = second;
    throw new PlatformError("not_found", `Kubernetes cluster ${name} has no ${JSON.stringify(unknown.what)} in ${unknown.groupVersion}`);
  }

  /** The name of a new object is in the body, which is read only where the decision depends on it. */
  async #named(request: KubeRequest, wanted: WantedSubjects, { headers, body }: AskedOfJudge): Promise<KubeRequest> {
    if (!request.isNamedInBody) return request;
    try {
      decideKube(this.#grant.kube, request.ask, wanted);
      return request;
    } catch (thrown) {
      if (toPlatformError(thrown).code !== "denied") throw thrown;
      return withBodyName(request, nameInBody(await body(), fieldOf(headers, "content-type")));
    }
  }
}

/** Whether a request asks the API server about the caller's own rights. */
function isReviewOf({ place, method }: KubeRequest, resource: "selfsubjectaccessreviews" | "selfsubjectrulesreviews"): boolean {
  return method === "POST" && place?.group === "authorization.k8s.io" && place.resource === resource;
}

/** Throws `denied` when a running request is no longer allowed as it was sent. Pure. */
function requireStill(before: KubeVerdict, after: KubeVerdict): void {
  if (stillHolds(before, after)) return;
  throw new PlatformError(
    "denied",
    "access denied: the roles no longer lend the users or groups with which the request runs, or not for all of its objects",
    {
      hint: "send the request again",
    },
  );
}

/** Throws `unsupported` and `denied` for what cannot be cut down to a part of the objects. Pure. */
function judgedOf(request: KubeRequest, { user, groups, shows, warning }: KubeVerdict, again: () => void): Judged {
  const { ask, place, many, isProxied, query } = request;
  // Rows without objects have no names: none of them could be shown.
  if (shows !== undefined && query.get("includeObject")?.[0] === "None")
    throw new PlatformError(
      "unsupported",
      "roles allow only a part of the objects, and rows without objects (includeObject=None) cannot be filtered",
    );
  const verb = ask.type === "object" ? ask.verbs[0] : undefined;
  const deletion = shows !== undefined && verb === "deletecollection" && place !== undefined ? { place, query, mayDelete: shows } : undefined;
  if (shows !== undefined && many === undefined && deletion === undefined)
    throw new PlatformError("denied", "access denied: roles allow only a part of the objects that the request is for", {
      hint: "name each object, or one label more",
    });
  return {
    facts: { verb, group: place?.group, resource: place?.resource, namespace: place?.namespace, name: place?.name },
    identity: { user, groups },
    isProxied,
    isWatch: many === "watch",
    isOngoing: many === "watch" || (place?.group === "" && place.subresource === "log" && isOn(query, "follow")),
    isOpen: ask.type === "open" && place === undefined,
    stream: streamOf(request),
    filter: shows !== undefined && many !== undefined ? { many, shows } : undefined,
    deletion,
    warning,
    again,
  };
}

/** Subresources of pods that are streams. */
const streams = ["exec", "attach", "portforward"] as const;

function streamOf({ place }: KubeRequest): StreamTarget | undefined {
  if (place?.group !== "" || place.resource !== "pods") return undefined;
  const kind = streams.find((one) => one === place.subresource);
  return kind && { kind, namespace: place.namespace, pod: place.name };
}
