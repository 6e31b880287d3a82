//! GOAL schedules: what each rank of a message-passing program sends, receives and computes, and in which order.
