/*
 * A Kubernetes cluster is confirmed for its page and the shells that open from it, each of which is a document of its own. They ask the pages of this browser, which
 * answer while they are open: nothing is stored. Only pages of our origin take part; what they pass on is good in this browser session alone.
 */

type Message =
  | { readonly type: "ask"; readonly cluster: string }
  | { readonly type: "have"; readonly cluster: string; readonly confirmation: string };

const channelName = "confirmed-clusters";
/** Time limit of an answer, ms: a page in the background is slower. */
const answerMs = 500;

/** Answers other pages with the confirmation of a cluster until the returned function is called. */
export function offerConfirmation(cluster: string, confirmation: string): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === "ask" && data.cluster === cluster) channel.postMessage({ type: "have", cluster, confirmation } satisfies Message);
  };
  return () => channel.close();
}

/** The confirmation of a cluster that an open page has, other than those that were refused. */
export async function findConfirmation(cluster: string, refused: ReadonlySet<string>): Promise<string | undefined> {
  const channel = new BroadcastChannel(channelName);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(undefined), answerMs);
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === "have" && data.cluster === cluster && !refused.has(data.confirmation)) resolve(data.confirmation);
  };
  channel.postMessage({ type: "ask", cluster } satisfies Message);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    channel.close();
  }
}
