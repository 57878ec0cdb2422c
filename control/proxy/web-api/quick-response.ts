import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestLimit } from "../../limits/request-limit.ts";
import type { QuickAnswers } from "./quick-answers.ts";

/** Answers a request that Node's parser has read, before the router is asked. True: answered. */
export function quickResponse(answers: QuickAnswers, limit: RequestLimit): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const answer = request.method === "GET" || request.method === "HEAD" ? answers(request.url ?? "") : undefined;
    if (answer === undefined || !limit.take(request.socket)) return false;
    response.writeHead(200, [...answer.headers]);
    if (request.method === "HEAD") response.end();
    // As text, header and body go out in one write.
    else response.end(answer.body, "latin1");
    return true;
  };
}
