#pragma once

/* Before the names of what is ordered; SET_ and a name: a variable that modules find in theirs. */
#define order_prefix "PLATFORM_ORDER_"

/* With which this process was started. */
extern char **given_environment;

/* What is given without the order, and what PAM adds to it or puts in its place. */
char **session_environment(char **from_pam);
