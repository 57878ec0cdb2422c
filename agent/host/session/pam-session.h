#pragma once
#include "order.h"

/* Opens the host's PAM library. Gives up where there is none. */
void need_pam(void);

/* May the account come in? Gives up in PAM's words when not. */
void ask_account(const struct order *order);

/* After ask_account: forgets the question. */
void end_question(void);

/*
 * After ask_account: sets the user's groups, opens a session, and starts a guardian that closes it once this process, whatever it has become, is over.
 * Gives up in PAM's words when a module refuses.
 */
void open_session(const struct order *order);

/* Variables that modules have set; NULL without a session. */
char **pam_variables(void);

/* What modules had to say, where the user wants to see it. */
void show_words(const struct order *order);
