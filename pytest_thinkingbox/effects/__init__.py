"""Where side effects of an attempt arrive: real sockets on the loopback interface, one set per attempt."""
