"""One event schema for what members send, receive, know to be stable and release."""
