"""What datagrams cost here: measured with the live runtime's own, on this machine and between given peers."""
