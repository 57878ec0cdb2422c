import { IncomingMessage } from "node:http";
import { gatherPieces } from "../node-internals/gather-pieces.ts";

/** A request at a server of HTTP/1.1 whose body, in chunks of one byte, is put together while nobody reads it. */
export class GatheredMessage extends IncomingMessage {}
gatherPieces(GatheredMessage.prototype);
