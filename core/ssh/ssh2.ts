/** The only way to ssh2: what it exports has its adapters applied. Imports stay in this order. */
import { hostCertificateTypes } from "./ssh2-preload.ts";
// biome-ignore assist/source/organizeImports: ssh2-preload.ts must run before any of these is loaded
import Client from "ssh2/lib/client.js";
import Protocol from "ssh2/lib/protocol/Protocol.js";
import utils from "ssh2/lib/protocol/utils.js";
import Server from "ssh2/lib/server.js";
