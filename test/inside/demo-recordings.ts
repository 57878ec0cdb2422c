import { randomUUID } from "node:crypto";
import { encodeCastEvent, encodeCastHeader } from "../../core/recording/cast.ts";
import { encodeRequest, encodeRequestsHeader } from "../../core/recording/requests.ts";
import { encodeBegin, encodeEnd, encodeStatementsHeader } from "../../core/recording/statements.ts";
import { ago } from "./demo-facts.ts";

const minute = 60_000;

/** A shell in which a service is looked after. */
export function terminalText(): string {
  const prompt = "\u001b[1;32mroot@web-2\u001b[0m:\u001b[1;34m/etc/nginx\u001b[0m# ";
  const lines = [
    `${prompt}systemctl status nginx --no-pager\r\n`,
    "\u001b[1;32m●\u001b[0m nginx.service - A high performance web server\r\n     Loaded: loaded (/lib/systemd/system/nginx.service; \u001b[1;32menabled\u001b[0m)\r\n",
    "     Active: \u001b[1;32mactive (running)\u001b[0m since Mon 2026-11-23 06:12:40 UTC\r\n   Main PID: 812 (nginx)\r\n      Tasks: 5 (limit: 4677)\r\n",
    `${prompt}nginx -t\r\nnginx: the configuration file /etc/nginx/nginx.conf syntax is ok\r\nnginx: configuration file test is successful\r\n`,
    `${prompt}ls --color sites-enabled\r\n\u001b[1;36mdefault\u001b[0m  \u001b[1;36mshop\u001b[0m  \u001b[1;36mstatus\u001b[0m\r\n`,
    `${prompt}systemctl reload nginx\r\n`,
    `${prompt}tail -n 3 /var/log/nginx/access.log\r\n`,
    '10.4.0.7 - - "GET /health HTTP/1.1" 200 2\r\n10.4.0.7 - - "GET /orders HTTP/1.1" 200 4812\r\n10.4.0.9 - - "POST /orders HTTP/1.1" 201 96\r\n',
    prompt,
  ];
  return (
    encodeCastHeader({ width: 80, height: 24, timestamp: 0, term: "xterm" }) +
    lines.map((data, at) => encodeCastEvent({ time: at * 0.05, kind: "o", data })).join("") +
    encodeCastEvent({ time: 212, kind: "o", data: "exit\r\n" })
  );
}

export function statementText(): string {
  const texts = [
    ["select id, state, total from orders where state = 'open' order by id desc limit 50", 50],
    ["select count(*) from order_lines where order_id = 48211", 1],
    ["update orders set state = 'paid' where id = 48211", 0],
    ["select * from customers where id = 1702", 1],
  ] as const;
  return (
    encodeStatementsHeader({ started: ago(180 * minute), protocol: "postgres", database: "orders", account: "reader", name: "shop" }) +
    texts
      .map(
        ([text, rows], at) =>
          encodeBegin({ number: at + 1, time: 3 + at * 14, kind: "query", text }) +
          encodeEnd(
            rows > 0
              ? { number: at + 1, time: 3.02 + at * 14, outcome: "ok", rows }
              : { number: at + 1, time: 3.02 + at * 14, outcome: "failed", code: "42501", message: "permission denied for table orders" },
          ),
      )
      .join("")
  );
}

export function requestText(): string {
  const asked = [
    ["GET", "/d/home/overview", "", 200],
    ["GET", "/api/search", "q=cpu", 200],
    ["POST", "/api/ds/query", "", 200],
    ["GET", "/api/alerts", "", 403],
    ["POST", "/api/ds/query", "", 502],
  ] as const;
  return (
    encodeRequestsHeader({ started: ago(1500 * minute), app: "grafana", session: randomUUID() }) +
    asked.map(([method, path, query, status], at) => encodeRequest({ time: at * 7.4, method, path, query, status })).join("")
  );
}
