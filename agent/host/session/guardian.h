#pragma once

/*
 * Starts a process that waits for the end of this one, however it ends, and then calls `close`. It is not a child of this one, for
 * the program that this becomes must not find a child that it did not create. False when it could not be started.
 */
#include <stdbool.h>
bool start_guardian(void (*close)(void));
