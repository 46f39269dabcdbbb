"""Who is in the group: failure detection and agreement on views, as pure state machines."""
