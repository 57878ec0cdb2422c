#pragma once

/*
 * Sets a terminal as the client's is: `modes` are pairs of opcode and value (RFC 4254 section 8), e.g. "1:3,38:0". As with sshd(8) what
 * the system does not have is left out, and a terminal that takes none of it is no reason to keep somebody out.
 */
void set_modes(int terminal, const char *modes);
