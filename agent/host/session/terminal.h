#pragma once
#include "order.h"

/*
 * Makes the ordered terminal the standard streams and the controlling terminal of this process, which leads its own session. As root
 * the user gets it, and utmp, wtmp and lastlog tell of it. Gives up when it cannot be opened.
 */
void adopt_terminal(const struct order *order);
