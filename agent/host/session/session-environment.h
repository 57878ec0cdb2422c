#pragma once

/* Before the names of what is ordered; SET_ and a name: a variable that modules find in theirs. */
#define order_prefix "PLATFORM_ORDER_"

/* With which this process was started. */
extern char **given_environment;

/* The given environment without the order, and the variables that PAM adds or replaces. */
char **session_environment(char **from_pam);
