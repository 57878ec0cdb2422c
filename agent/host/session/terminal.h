#pragma once
#include "order.h"

/*
 * Makes the ordered terminal the standard streams and the controlling terminal of this process, which leads its own session. As root
 * it also gives it to the user and records it in utmp, wtmp and lastlog. Gives up when it cannot be opened.
 */
void adopt_terminal(const struct order *order);
