"""Getting the data to everyone: repair and buffers, as pure state machines beside the stability protocols."""
