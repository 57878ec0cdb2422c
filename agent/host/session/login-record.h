#pragma once
#include "order.h"

/* utmp, wtmp and lastlog of this process, if this host keeps them. May wait for the lock of utmp, 10 s at most. */
void record_login(const struct order *order);
