/** The most events that a host sends in one call. */
export const eventsInCall = 500;
