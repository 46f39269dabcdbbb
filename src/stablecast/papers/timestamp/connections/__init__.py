"""Section 6: connections between senders and receivers, explored in every order of events."""
