#pragma once

/*
 * Sets a terminal's modes to the client's: `modes` are pairs of opcode and value (RFC 4254 section 8), e.g. "1:3,38:0". As with sshd(8) what
 * the system does not have is left out, and a terminal that accepts none of it does not prevent a login.
 */
void set_modes(int terminal, const char *modes);
