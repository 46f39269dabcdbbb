"""One process of a group, without a socket: datagrams, calls and the time in; what is to be done out."""
