#pragma once
#include "order.h"

/* Opens the host's PAM library. Gives up where there is none. */
void need_pam(void);

/* Asks PAM whether the account may log in. Gives up with PAM's message when not. */
void ask_account(const struct order *order);

/* After ask_account: drops the query. */
void end_question(void);

/*
 * After ask_account: sets the user's groups, opens a session, and starts a guardian that closes it once this process, whatever it has become, is over.
 * Gives up with PAM's message when a module refuses.
 */
void open_session(const struct order *order);

/* Variables that modules have set; NULL without a session. */
char **pam_variables(void);

/* The modules' messages, where the user wants to see them. */
void show_words(const struct order *order);
