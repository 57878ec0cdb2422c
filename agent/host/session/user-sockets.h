#pragma once

/*
 * Makes TCP sockets on behalf of this process's user, until the agent leaves. Lines come at descriptor 0:
 *
 *   connect <id> <port> <address>     listen <id> <port> <address>     forget <id>
 *
 * Lines go back at descriptor 1, the sockets beside them at `sockets_fd`, each in a packet with the id of the line that follows it:
 *
 *   <id> connected 0     <id> listening <port>     <id> arrived 0     <id> failed <errno>
 */
enum { sockets_fd = 4 };

/* Returns when the agent has disconnected or broken the protocol. */
void serve_sockets(void);
